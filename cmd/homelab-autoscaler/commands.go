package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/convert"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/preflight"
	"homecluster.dev/autoscaler/internal/quiesce"
)

// exitBlocked is a preflight that found something in the way.
const exitBlocked = 3

// streams are where a command reads from and writes to.
type streams struct {
	in              io.Reader
	out, complaints io.Writer
}

// command is what the program does instead of running, when its first argument names it.
type command func(ctx context.Context, args []string, s streams) int

func commandNamed(name string) (command, bool) {
	run, known := map[string]command{
		config.CloudConfigCommand: cloudConfig,
		config.PreflightCommand:   runPreflight,
		config.ConvertCommand:     runConvert,
		config.MergedCRDsCommand:  runMergedCRDs,
		config.QuiesceCommand:     runQuiesce,
	}[name]
	return run, known
}

// options are the flags of a command that reaches a cluster.
type options struct {
	*flag.FlagSet
	kubeconfig, namespace string
}

// flagsFor are the flags of a command, with a help text that begins with about.
func flagsFor(name, about string) *options {
	o := &options{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	o.SetOutput(io.Discard)
	o.Usage = func() {
		_, _ = fmt.Fprintf(o.Output(), "homelab-autoscaler %s %s\n\nFlags:\n", name, about)
		o.PrintDefaults()
	}
	return o
}

func (o *options) reaches(namespace string) {
	o.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, else the service account of the pod, else ~/.kube/config)")
	o.StringVar(&o.namespace, "namespace", namespace, "`namespace` of the operator")
}

// parse reads the arguments. Where done is true there is nothing more to do than to exit with the code.
func (o *options) parse(args []string, s streams) (code int, done bool) {
	err := o.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		o.SetOutput(s.out)
		o.Usage()
		return 0, true
	case err != nil:
		return complain(s.complaints, fmt.Errorf("%w, see %s --help", err, o.Name()), exitUsage), true
	case o.NArg() > 0:
		return complain(s.complaints, fmt.Errorf("unexpected argument %q, see %s --help", o.Arg(0), o.Name()), exitUsage), true
	}
	return 0, false
}

// reach says how to reach the cluster.
func (o *options) reach() (*rest.Config, error) {
	process := config.Process()
	return config.Config{Kubeconfig: cmp.Or(o.kubeconfig, process.Getenv("KUBECONFIG"), kubectls(process))}.RestConfig()
}

// kubectls is the file that kubectl reads where nobody names one, if there is one; in a pod there is the service account.
func kubectls(process config.Environment) string {
	if process.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return ""
	}
	file := filepath.Join(process.Getenv("HOME"), ".kube", "config")
	if _, err := process.ReadFile(file); err != nil {
		return ""
	}
	return file
}

// defaultNamespace is where the guides install the operator.
const defaultNamespace = "homelab-autoscaler-system"

// runPreflight reads a cluster and says what an upgrade would break.
func runPreflight(ctx context.Context, args []string, s streams) int {
	o := flagsFor(config.PreflightCommand, "reads a cluster and says what would break in an upgrade from 0.1 to 0.2, with the commands that mend it.\n"+
		"It changes nothing. Exit codes: 0 ready, 1 could not be read, 2 wrong usage, 3 blocked.")
	o.reaches(defaultNamespace)
	format := o.String("o", "text", "`format` of the report: text or json")
	if code, done := o.parse(args, s); done {
		return code
	}
	if *format != "text" && *format != "json" {
		return complain(s.complaints, fmt.Errorf("-o %q is not text or json", *format), exitUsage)
	}
	reach, err := o.reach()
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	snapshot, err := preflight.Read(ctx, reach, o.namespace)
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	report := preflight.Judge(snapshot)
	write := report.Text
	if *format == "json" {
		write = report.JSON
	}
	if err := write(s.out); err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	switch report.Verdict {
	case preflight.Ready:
		return 0
	case preflight.Blocked:
		return exitBlocked
	case preflight.Unknown:
	}
	return exitFailed
}

// runConvert rewrites manifests from standard input.
func runConvert(_ context.Context, args []string, s streams) int {
	o := flagsFor(config.ConvertCommand, "reads manifests from standard input and writes them to standard output, Nodes and Groups of v1alpha1 rewritten\n"+
		"for v2alpha1, comments included, lists taken apart, everything else as it was. What was dropped and why goes to standard error.\n"+
		"Exit codes: 0 all of it can be applied, 1 something needs a hand, 2 wrong usage.")
	if code, done := o.parse(args, s); done {
		return code
	}
	result, err := convert.Manifests(s.in)
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	if code := say(s.out, string(result.YAML)); code != 0 {
		return code
	}
	var notes strings.Builder
	for _, note := range result.Notes {
		notes.WriteString(note.String() + "\n")
	}
	fmt.Fprintf(&notes, "%d objects of v1alpha1 rewritten\n", result.Converted)
	if code := say(s.complaints, notes.String()); code != 0 || result.Faulty() {
		return exitFailed
	}
	return 0
}

// runMergedCRDs writes the definitions that serve both versions.
func runMergedCRDs(_ context.Context, args []string, s streams) int {
	o := flagsFor(config.MergedCRDsCommand, "writes CustomResourceDefinitions of Node and Group that serve v1alpha1 beside v2alpha1, for an upgrade\n"+
		"in which the objects stay readable until they are deleted. They store v2alpha1.")
	if code, done := o.parse(args, s); done {
		return code
	}
	text, err := convert.MergedDefinitions()
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	return say(s.out, text)
}

// runQuiesce takes the operator out of use.
func runQuiesce(ctx context.Context, args []string, s streams) int {
	o := flagsFor(config.QuiesceCommand, "takes the operator out of use before it is uninstalled, or frees what a missing one left behind: it stops\n"+
		"cluster-autoscaler, waits for machines that are being switched off, stops the manager, and takes our finalizers off claims and\n"+
		"slots. It switches no machine, and says what becomes of each. Exit codes: 0 done, 1 failed, 2 wrong usage.")
	o.reaches(defaultNamespace)
	var q quiesce.Options
	o.StringVar(&q.Release, "release-namespace", "", "`namespace` of the two Deployments, if it is another")
	o.StringVar(&q.Autoscaler, "autoscaler", "homelab-autoscaler-cluster-autoscaler", "`name` of the Deployment that asks for machines")
	o.StringVar(&q.Manager, "manager", "homelab-autoscaler-controller-manager", "`name` of the manager's Deployment")
	o.DurationVar(&q.Wait, "wait", 2*time.Minute, "how long to wait for machines that are being switched off")
	o.BoolVar(&q.DryRun, "dry-run", false, "only say what would become of the machines")
	if code, done := o.parse(args, s); done {
		return code
	}
	reach, err := o.reach()
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	q.Namespace = o.namespace
	quiescer, err := quiesce.New(reach, q, kube.Clock{}, s.out)
	if err == nil {
		err = quiescer.Run(ctx)
	}
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	return 0
}
