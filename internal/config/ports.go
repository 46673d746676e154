package config

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TLS says where the certificate of the webhook's and the metrics' ports comes from: two files that somebody else keeps,
// or the manager itself, which keeps it in a Secret.
type TLS struct {
	// CertFile and KeyFile are the certificate with its chain, and its key, in PEM; empty: the manager makes its own.
	CertFile, KeyFile string
	// Secret is the Secret in which the manager keeps its own.
	Secret string
	// Names are further DNS names and IP addresses that its own certificate is for.
	Names []string
}

// Webhook says where the API server asks before it stores objects of ours.
type Webhook struct {
	// Address is where the webhook listens; Off, or empty, switches it off.
	Address string
	// Configuration is the name of the two webhook configurations that are to trust the manager's own certificate.
	Configuration string
	// Service is the Service by which the API server finds the webhook: its names are in the manager's own certificate.
	Service string
}

// On is whether there is a webhook.
func (w Webhook) On() bool { return w.Address != "" && w.Address != Off }

// Files is whether somebody else keeps the certificate.
func (t TLS) Files() bool { return t.CertFile != "" }

// MetricsOn is whether metrics are served.
func (c Config) MetricsOn() bool { return c.MetricsAddress != Off }

// OwnCertificate is whether the manager makes a certificate for its ports.
func (c Config) OwnCertificate() bool {
	return !c.TLS.Files() && (c.Webhook.On() || c.MetricsOn() && !c.MetricsInsecure)
}

// CertificateNames are all the names of the manager's own certificate.
func (c Config) CertificateNames() []string {
	var names []string
	if service := c.Webhook.Service; service != "" {
		names = append(names, service+"."+c.Namespace+".svc", service+"."+c.Namespace+".svc.cluster.local")
	}
	return append(names, c.TLS.Names...)
}

func (c *Config) portFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.Webhook.Address, "webhook-bind-address", ":9443",
		"`address` at which the API server asks before it stores our objects; 0 serves none")
	flags.StringVar(&c.Webhook.Configuration, "webhook-configuration", "homelab-autoscaler",
		"`name` of the webhook configurations that are to trust the manager's own certificate; empty for none")
	flags.StringVar(&c.Webhook.Service, "webhook-service", "homelab-autoscaler-webhook",
		"`name` of the Service before the webhook, for the manager's own certificate")
	flags.BoolVar(&c.MetricsInsecure, "metrics-insecure", false, "serve /metrics in plaintext to whoever reaches the port")
	flags.StringVar(&c.TLS.CertFile, "tls-cert-file", "",
		"`file` with the certificate of the webhook's and the metrics' ports, in PEM; read again when it changes; without it the manager makes its own")
	flags.StringVar(&c.TLS.KeyFile, "tls-key-file", "", "`file` with the key of --tls-cert-file, in PEM; read again when it changes")
	flags.StringVar(&c.TLS.Secret, "tls-secret", "homelab-autoscaler-certs", "`name` of the Secret in which the manager keeps the certificate that it makes")
	flags.Func("tls-names", "comma-separated further DNS `names` and IP addresses for the certificate that the manager makes", func(list string) error {
		c.TLS.Names = split(list)
		return nil
	})
}

func (c *Config) validPorts() error {
	t, w := c.TLS, c.Webhook
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file go together: pass both")
	case t.Files() && len(t.Names) > 0:
		return errors.New("--tls-names contradicts --tls-cert-file: the names are those of the certificate in the file")
	case !c.OwnCertificate():
		return nil
	}
	if faults := validation.IsDNS1123Subdomain(t.Secret); len(faults) > 0 {
		return fmt.Errorf("--tls-secret %q is not a Secret's name: %s", t.Secret, faults[0])
	}
	if faults := validation.IsDNS1123Label(w.Service); w.Service != "" && len(faults) > 0 {
		return fmt.Errorf("--webhook-service %q is not a Service's name: %s", w.Service, faults[0])
	}
	if faults := validation.IsDNS1123Subdomain(w.Configuration); w.Configuration != "" && len(faults) > 0 {
		return fmt.Errorf("--webhook-configuration %q is not a webhook configuration's name: %s", w.Configuration, faults[0])
	}
	for _, name := range t.Names {
		if net.ParseIP(name) == nil && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("--tls-names: %q is neither a DNS name nor an IP address", name)
		}
	}
	if len(c.CertificateNames()) == 0 {
		return errors.New("a certificate needs a name: pass --webhook-service or --tls-names")
	}
	return nil
}

// split takes a comma-separated list apart.
func split(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return slices.Clip(parts)
}
