package config

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
)

// Observer is everything that a person can tell the power observer.
type Observer struct {
	// Namespace is the one whose slots are read.
	Namespace string
	// Kubeconfig names a kubeconfig file, or several as KUBECONFIG does; empty: the service account of the pod.
	Kubeconfig string
	// Address is where /metrics, /healthz and /readyz are served, in plaintext; Off switches them off.
	Address string
	// Log says what is logged and how.
	Log Log
}

// ParseObserver reads the arguments of the power observer, the program's name left out. The error is one line.
func ParseObserver(args []string, env Environment) (Observer, error) {
	var o Observer
	level := "info"
	flags := o.flags(&level)
	if err := flags.Parse(args); err != nil {
		return Observer{}, oneLine(err)
	}
	if flags.NArg() > 0 {
		return Observer{}, fmt.Errorf("unexpected argument %q: everything is told by flags, see --help", flags.Arg(0))
	}
	if err := o.Log.take(level); err != nil {
		return Observer{}, err
	}
	o.Kubeconfig = cmp.Or(o.Kubeconfig, env.Getenv("KUBECONFIG"))
	o.Namespace = cmp.Or(o.Namespace, env.namespace())
	return o, o.validate()
}

// ObserverUsage is the help text of the power observer.
func ObserverUsage() string {
	var o Observer
	var out strings.Builder
	level := "info"
	flags := o.flags(&level)
	flags.SetOutput(&out)
	out.WriteString("power-observer reads the power switches that slots declare, and keeps what they say in status.powerReading.\n\nFlags:\n")
	flags.PrintDefaults()
	return out.String()
}

func (o *Observer) flags(level *string) *flag.FlagSet {
	flags := flag.NewFlagSet("power-observer", flag.ContinueOnError)
	flags.SetOutput(discard{})
	flags.Usage = func() {}
	flags.StringVar(&o.Namespace, "namespace", "", "`namespace` whose slots are read (default: $POD_NAMESPACE, else the service account's)")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, else the service account of the pod)")
	flags.StringVar(&o.Address, "bind-address", ":8081", "`address` of /metrics, /healthz and /readyz, in plaintext; 0 serves none")
	o.Log.flags(flags, level)
	return flags
}

func (o *Observer) validate() error {
	if err := validNamespace(o.Namespace); err != nil {
		return err
	}
	if o.Address != Off {
		if err := validAddress(o.Address); err != nil {
			return fmt.Errorf("--bind-address %q is not an address like :8081 or 127.0.0.1:8081: %w", o.Address, err)
		}
	}
	return o.Log.validate()
}
