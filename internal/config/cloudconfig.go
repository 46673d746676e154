package config

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// CloudConfigCommand is the first argument that asks for a CloudConfig instead of a run.
const CloudConfigCommand = "cloud-config"

// clientTimeout is what a call of cluster-autoscaler may take. A DeleteNodes that meets a conflict tries again until then.
const clientTimeout = 10 * time.Second

// CloudConfig is the file behind cluster-autoscaler's --cloud-config, by which its externalgrpc client finds the provider.
// The paths are those that the client sees.
type CloudConfig struct {
	// Address is the provider's host and port. The host must be a name, or an IP address, of the provider's certificate.
	Address string `json:"address"`
	// Key, Cert and CACert are the client's key and certificate and the authority of the provider's; all or none.
	Key    string `json:"key,omitempty"`
	Cert   string `json:"cert,omitempty"`
	CACert string `json:"cacert,omitempty"`
	// GRPCTimeout bounds each call. Clients before 1.29 do not know it, and wait for 5 seconds.
	GRPCTimeout string `json:"grpc_timeout"`
}

// ParseCloudConfig reads the arguments behind CloudConfigCommand. The error is one line.
func ParseCloudConfig(args []string) (CloudConfig, error) {
	o := cloudConfigFlags()
	if err := o.flags.Parse(args); err != nil {
		return CloudConfig{}, oneLine(err)
	}
	if o.flags.NArg() > 0 {
		return CloudConfig{}, fmt.Errorf("unexpected argument %q: everything is told by flags, see --help", o.flags.Arg(0))
	}
	o.file.GRPCTimeout = o.timeout.String()
	return o.file, o.validate()
}

// CloudConfigUsage is the help text of CloudConfigCommand.
func CloudConfigUsage() string {
	o := cloudConfigFlags()
	var out strings.Builder
	o.flags.SetOutput(&out)
	out.WriteString("homelab-autoscaler " + CloudConfigCommand + " writes the file for cluster-autoscaler's --cloud-config. It reads no file:\n" +
		"the paths are those that cluster-autoscaler will see.\n\nFlags:\n")
	o.flags.PrintDefaults()
	return out.String()
}

// YAML is the file.
func (c CloudConfig) YAML() (string, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("writing the cloud-config: %w", err)
	}
	return string(text), nil
}

type cloudConfigOptions struct {
	flags    *flag.FlagSet
	file     CloudConfig
	timeout  time.Duration
	insecure bool
}

func cloudConfigFlags() *cloudConfigOptions {
	o := &cloudConfigOptions{flags: flag.NewFlagSet(CloudConfigCommand, flag.ContinueOnError)}
	o.flags.SetOutput(discard{})
	o.flags.Usage = func() {}
	o.flags.StringVar(&o.file.Address, "address", "", "`host:port` of the provider, the host as its certificate names it")
	o.flags.StringVar(&o.file.Cert, "cert", "", "`file` with cluster-autoscaler's own certificate")
	o.flags.StringVar(&o.file.Key, "key", "", "`file` with the key of --cert")
	o.flags.StringVar(&o.file.CACert, "cacert", "", "`file` with the authority that signed the provider's certificate")
	o.flags.DurationVar(&o.timeout, "grpc-timeout", clientTimeout, "how long one call may take")
	o.flags.BoolVar(&o.insecure, "insecure", false, "plaintext, for a provider that runs with --grpc-insecure")
	return o
}

func (o *cloudConfigOptions) validate() error {
	f := o.file
	host, _, err := net.SplitHostPort(f.Address)
	given := 0
	for _, path := range []string{f.Key, f.Cert, f.CACert} {
		if path != "" {
			given++
		}
	}
	switch {
	case f.Address == "":
		return errors.New("no provider to find: pass --address host:port")
	case err != nil || validAddress(f.Address) != nil || host == "":
		return fmt.Errorf("--address %q is not a host and a port like homelab-autoscaler.home.svc:50051", f.Address)
	case o.timeout <= 0:
		return fmt.Errorf("--grpc-timeout %s is not positive", o.timeout)
	case o.insecure && given > 0:
		return errors.New("--insecure contradicts --cert, --key and --cacert: pass one or the other")
	case !o.insecure && given == 0:
		return errors.New("no certificates: pass --cert, --key and --cacert, or --insecure for a provider that serves plaintext")
	case !o.insecure && given < 3:
		return errors.New("cluster-autoscaler knows plaintext and mutual TLS only: pass all of --cert, --key and --cacert")
	}
	return nil
}
