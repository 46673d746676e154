// Package config reads the command line into a Config and says in one line what is wrong with it.
package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"homecluster.dev/autoscaler/internal/core/policy"
)

// Config is everything that a person can tell the manager.
type Config struct {
	// Namespace is the one the manager serves: its groups, slots, claims and lifecycle Jobs live there.
	Namespace string
	// Kubeconfig names a kubeconfig file, or several as KUBECONFIG does; empty: the service account of the pod.
	Kubeconfig string
	// GRPCAddress is where cluster-autoscaler finds the provider.
	GRPCAddress string
	// GRPC says how that address is secured.
	GRPC GRPC
	// MetricsAddress and ProbeAddress are the HTTP endpoints; Off switches one off.
	MetricsAddress, ProbeAddress string
	// MetricsInsecure serves metrics in plaintext to anybody who reaches the port.
	MetricsInsecure bool
	// Webhook is where the API server asks before it stores objects of ours.
	Webhook Webhook
	// TLS is the certificate of the webhook's and the metrics' ports.
	TLS TLS
	// LeaderElection lets several replicas run, of which one decides.
	LeaderElection LeaderElection
	// StartTimeout is how long the manager waits at its start for an API server that answers, serves our kinds and
	// grants our rights.
	StartTimeout time.Duration
	// JobPriorityClass is the PriorityClass of the Jobs that switch machines; empty: the cluster's default.
	JobPriorityClass string
	// PowerImage is the image of the program power, for slots that declare their switch; empty: the one of the manager's version.
	PowerImage string
	// Log says what is logged and how.
	Log Log
	// Version asks for the version instead of a run.
	Version bool
}

// The first arguments that ask for something else than a run, beside CloudConfigCommand.
const (
	// PreflightCommand reads a cluster before an upgrade.
	PreflightCommand = "preflight"
	// ConvertCommand rewrites manifests of the former version of our API.
	ConvertCommand = "convert"
	// MergedCRDsCommand writes CustomResourceDefinitions that serve both versions.
	MergedCRDsCommand = "merged-crds"
	// QuiesceCommand takes the operator out of use.
	QuiesceCommand = "quiesce"
)

// Off as an HTTP address switches the endpoint off.
const Off = "0"

// LeaderElection are the timings of the lease.
type LeaderElection struct {
	Enabled                                   bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// ErrHelp is the answer to -h: the usage has to be printed, and nothing is wrong.
var ErrHelp = flag.ErrHelp

// Parse reads the arguments, the program's name left out. The error is one line.
func Parse(args []string, env Environment) (Config, error) {
	var c Config
	level := "info"
	flags := c.flags(&level)
	if err := flags.Parse(args); err != nil {
		return Config{}, oneLine(err)
	}
	if c.Version {
		return c, nil
	}
	if flags.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q: everything is told by flags, see --help", flags.Arg(0))
	}
	if err := c.Log.take(level); err != nil {
		return Config{}, err
	}
	c.Kubeconfig = cmp.Or(c.Kubeconfig, env.Getenv("KUBECONFIG"))
	if c.Namespace == "" {
		c.Namespace = env.namespace()
	}
	return c, c.validate()
}

// Usage is the help text.
func Usage() string {
	var c Config
	var out strings.Builder
	level := "info"
	flags := c.flags(&level)
	flags.SetOutput(&out)
	out.WriteString("homelab-autoscaler turns machines on when pods need them and off when they do not.\n" +
		"Instead, by its first argument, each with a --help of its own:\n" +
		"  " + CloudConfigCommand + "  writes the file by which cluster-autoscaler finds it\n" +
		"  " + PreflightCommand + "     says what an upgrade from 0.1 would break, and how to mend it\n" +
		"  " + ConvertCommand + "       rewrites manifests of v1alpha1 for v2alpha1\n" +
		"  " + MergedCRDsCommand + "   writes definitions that serve both versions\n" +
		"  " + QuiesceCommand + "       takes the operator out of use before it is uninstalled\n\nFlags:\n")
	flags.PrintDefaults()
	return out.String()
}

func (c *Config) flags(level *string) *flag.FlagSet {
	flags := flag.NewFlagSet("homelab-autoscaler", flag.ContinueOnError)
	flags.SetOutput(discard{})
	flags.Usage = func() {}
	flags.StringVar(&c.Namespace, "namespace", "", "`namespace` to serve (default: $POD_NAMESPACE, else the service account's)")
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, else the service account of the pod)")
	flags.StringVar(&c.GRPCAddress, "grpc-bind-address", ":50051", "`address` of the externalgrpc provider for cluster-autoscaler")
	c.GRPC.flags(flags)
	flags.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", "`address` of /metrics; 0 serves none")
	flags.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 serves none")
	c.portFlags(flags)
	l := &c.LeaderElection
	flags.BoolVar(&l.Enabled, "leader-elect", false, "elect a leader among replicas; only the leader decides, all of them serve the provider")
	flags.DurationVar(&l.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait before they take over a silent leader's lease")
	flags.DurationVar(&l.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew its lease before it stops")
	flags.DurationVar(&l.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "how long between two tries")
	flags.DurationVar(&c.StartTimeout, "start-timeout", time.Minute,
		"how long to wait at the start for an API server that answers, serves our kinds and grants our rights")
	flags.StringVar(&c.JobPriorityClass, "job-priority-class", "",
		"`name` of the PriorityClass of the Jobs that switch machines; without it the cluster's default")
	flags.StringVar(&c.PowerImage, "power-image", "",
		"`image` of the program power, which works the switches that slots declare in spec.power (default: "+policy.PowerRepository+" of the manager's own version)")
	c.Log.flags(flags, level)
	flags.BoolVar(&c.Version, "version", false, "print the version and exit")
	return flags
}

// validate answers the first fault: a person mends one at a time.
func (c *Config) validate() error {
	if err := validNamespace(c.Namespace); err != nil {
		return err
	}
	for _, check := range []func() error{c.validAddresses, c.GRPC.Validate, c.validPorts, c.validLease, c.validRest} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func validNamespace(namespace string) error {
	if namespace == "" {
		return errors.New("no namespace to serve: pass --namespace or set POD_NAMESPACE (in a pod it is read from the service account)")
	}
	if faults := validation.IsDNS1123Label(namespace); len(faults) > 0 {
		return fmt.Errorf("--namespace %q is not a namespace's name: %s", namespace, faults[0])
	}
	return nil
}

func (c *Config) validAddresses() error {
	for _, address := range []struct {
		flag, value string
		mayBeOff    bool
	}{
		{"--grpc-bind-address", c.GRPCAddress, false},
		{"--metrics-bind-address", c.MetricsAddress, true},
		{"--health-probe-bind-address", c.ProbeAddress, true},
		{"--webhook-bind-address", c.Webhook.Address, true},
	} {
		if address.mayBeOff && address.value == Off {
			continue
		}
		if err := validAddress(address.value); err != nil {
			return fmt.Errorf("%s %q is not an address like :8080 or 127.0.0.1:8080: %w", address.flag, address.value, err)
		}
	}
	return nil
}

func validAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		var fault *net.AddrError
		if errors.As(err, &fault) {
			return errors.New(fault.Err)
		}
		return err
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q is not between 0 and 65535", port)
	}
	return nil
}

func (c *Config) validLease() error {
	l := c.LeaderElection
	switch {
	case !l.Enabled:
		return nil
	case l.RetryPeriod <= 0:
		return fmt.Errorf("--leader-elect-retry-period %s is not positive", l.RetryPeriod)
	case l.RenewDeadline <= l.RetryPeriod*6/5:
		return fmt.Errorf("--leader-elect-renew-deadline %s must be more than 1.2 times --leader-elect-retry-period %s", l.RenewDeadline, l.RetryPeriod)
	case l.LeaseDuration <= l.RenewDeadline:
		return fmt.Errorf("--leader-elect-lease-duration %s must be longer than --leader-elect-renew-deadline %s", l.LeaseDuration, l.RenewDeadline)
	case l.LeaseDuration < time.Second:
		return fmt.Errorf("--leader-elect-lease-duration %s is less than a second", l.LeaseDuration)
	}
	return nil
}

func (c *Config) validRest() error {
	if c.StartTimeout <= 0 {
		return fmt.Errorf("--start-timeout %s is not positive", c.StartTimeout)
	}
	if faults := validation.IsDNS1123Subdomain(c.JobPriorityClass); c.JobPriorityClass != "" && len(faults) > 0 {
		return fmt.Errorf("--job-priority-class %q is not a PriorityClass's name: %s", c.JobPriorityClass, faults[0])
	}
	if strings.ContainsFunc(c.PowerImage, unicode.IsSpace) {
		return fmt.Errorf("--power-image %q is not an image like %s", c.PowerImage, policy.DefaultPowerImage)
	}
	return c.Log.validate()
}

// oneLine puts a parser's complaint on one line.
func oneLine(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return ErrHelp
	}
	return fmt.Errorf("%w, see --help", flat{err})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
