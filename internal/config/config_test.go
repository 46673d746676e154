package config

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func environment(variables map[string]string, files map[string]string) Environment {
	return Environment{
		Getenv: func(name string) string { return variables[name] },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
	}
}

func TestParse(t *testing.T) {
	defaults := Config{
		Namespace: "home", GRPCAddress: ":50051", MetricsAddress: ":8080", ProbeAddress: ":8081", StartTimeout: time.Minute,
		GRPC:           GRPC{Insecure: true},
		Webhook:        Webhook{Address: ":9443", Configuration: "homelab-autoscaler", Service: "homelab-autoscaler-webhook"},
		TLS:            TLS{Secret: "homelab-autoscaler-certs"},
		LeaderElection: LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
		Log:            Log{Level: slog.LevelInfo, Format: "text"},
	}
	with := func(change func(*Config)) Config {
		c := defaults
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		args      []string
		variables map[string]string
		files     map[string]string
		want      Config
	}{
		"a namespace is enough":                  {args: []string{"--namespace=home", "--grpc-insecure"}, want: defaults},
		"the pod's variable names the namespace": {args: []string{"--grpc-insecure"}, variables: map[string]string{"POD_NAMESPACE": "home"}, want: defaults},
		"the service account names the namespace": {
			args: []string{"--grpc-insecure"}, files: map[string]string{namespaceFile: "home\n"}, want: defaults,
		},
		"the flag outranks the environment": {
			args: []string{"--namespace", "home", "--grpc-insecure"}, variables: map[string]string{"POD_NAMESPACE": "other"}, want: defaults,
		},
		"the environment names a kubeconfig": {
			args: []string{"--namespace=home", "--grpc-insecure"}, variables: map[string]string{"KUBECONFIG": "/k"},
			want: with(func(c *Config) { c.Kubeconfig = "/k" }),
		},
		"endpoints may be off": {
			args: []string{"--namespace=home", "--grpc-insecure", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--webhook-bind-address=0"},
			want: with(func(c *Config) { c.MetricsAddress, c.ProbeAddress, c.Webhook.Address = Off, Off, Off }),
		},
		"everything can be told": {
			args: []string{"--namespace=home", "--kubeconfig=/k", "--grpc-bind-address=127.0.0.1:1", "--grpc-cert-file=/c", "--grpc-key-file=/y",
				"--grpc-client-ca-file=/a", "--grpc-allowed-client-names=ca-1, ca-2,", "--metrics-bind-address=[::1]:2",
				"--health-probe-bind-address=:0", "--leader-elect", "--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=40s",
				"--leader-elect-retry-period=5s", "--start-timeout=3s", "--job-priority-class=power", "--power-image=registry.lan/power:1", "--log-level=debug", "--log-format=json",
				"--webhook-bind-address=:3", "--webhook-configuration=mine", "--webhook-service=hook", "--metrics-insecure",
				"--tls-secret=kept", "--tls-names=127.0.0.1, hook.lan,"},
			want: Config{Namespace: "home", Kubeconfig: "/k", GRPCAddress: "127.0.0.1:1", MetricsAddress: "[::1]:2", ProbeAddress: ":0",
				GRPC:           GRPC{CertFile: "/c", KeyFile: "/y", ClientCAFile: "/a", AllowedClientNames: []string{"ca-1", "ca-2"}},
				LeaderElection: LeaderElection{Enabled: true, LeaseDuration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 5 * time.Second},
				Webhook:        Webhook{Address: ":3", Configuration: "mine", Service: "hook"}, MetricsInsecure: true,
				TLS:          TLS{Secret: "kept", Names: []string{"127.0.0.1", "hook.lan"}},
				StartTimeout: 3 * time.Second, JobPriorityClass: "power", PowerImage: "registry.lan/power:1", Log: Log{Level: slog.LevelDebug, Format: "json"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(test.args, environment(test.variables, test.files))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseAnswersOneClearLine(t *testing.T) {
	subdomain, label := validation.IsDNS1123Subdomain("_")[0], validation.IsDNS1123Label("a.b")[0]
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no namespace": {nil,
			"no namespace to serve: pass --namespace or set POD_NAMESPACE (in a pod it is read from the service account)"},
		"a namespace that cannot be one": {[]string{"--namespace=My_Home"},
			`--namespace "My_Home" is not a namespace's name: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
		"a flag that does not exist": {[]string{"--nope"},
			"flag provided but not defined: -nope, see --help"},
		"a flag without its value": {[]string{"--namespace"},
			"flag needs an argument: -namespace, see --help"},
		"a duration that is none": {[]string{"--start-timeout=soon"},
			`invalid value "soon" for flag -start-timeout: parse error, see --help`},
		"a positional argument": {[]string{"--namespace=home", "start"},
			`unexpected argument "start": everything is told by flags, see --help`},
		"a level that is none": {[]string{"--namespace=home", "--log-level=loud"},
			`--log-level "loud" is not one of debug, info, warn, error`},
		"a format that is none": {[]string{"--namespace=home", "--grpc-insecure", "--log-format=xml"},
			`--log-format "xml" is not text or json`},
		"an address without a port": {[]string{"--namespace=home", "--grpc-bind-address=localhost"},
			`--grpc-bind-address "localhost" is not an address like :8080 or 127.0.0.1:8080: missing port in address`},
		"a port out of range": {[]string{"--namespace=home", "--metrics-bind-address=:70000"},
			`--metrics-bind-address ":70000" is not an address like :8080 or 127.0.0.1:8080: port "70000" is not between 0 and 65535`},
		"a provider that is off": {[]string{"--namespace=home", "--grpc-bind-address=0"},
			`--grpc-bind-address "0" is not an address like :8080 or 127.0.0.1:8080: missing port in address`},
		"no word on security": {[]string{"--namespace=home"},
			"no certificate for the provider's port: pass --grpc-cert-file and --grpc-key-file, or --grpc-insecure to serve plaintext"},
		"plaintext and a certificate": {[]string{"--namespace=home", "--grpc-insecure", "--grpc-cert-file=/c"},
			"--grpc-insecure contradicts the certificates of --grpc-cert-file and the other --grpc flags: pass one or the other"},
		"plaintext for certain clients": {[]string{"--namespace=home", "--grpc-insecure", "--grpc-allowed-client-names=a"},
			"--grpc-insecure contradicts the certificates of --grpc-cert-file and the other --grpc flags: pass one or the other"},
		"a certificate without its key": {[]string{"--namespace=home", "--grpc-cert-file=/c"},
			"--grpc-cert-file and --grpc-key-file go together: pass both"},
		"an authority without a certificate": {[]string{"--namespace=home", "--grpc-client-ca-file=/a"},
			"--grpc-cert-file and --grpc-key-file go together: pass both"},
		"names that nobody vouches for": {[]string{"--namespace=home", "--grpc-cert-file=/c", "--grpc-key-file=/k", "--grpc-allowed-client-names=a"},
			"--grpc-allowed-client-names needs --grpc-client-ca-file: without an authority anybody can take any name"},
		"a priority class that cannot be one": {[]string{"--namespace=home", "--grpc-insecure", "--job-priority-class=Power Jobs"},
			`--job-priority-class "Power Jobs" is not a PriorityClass's name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		"an image that is none": {[]string{"--namespace=home", "--grpc-insecure", "--power-image=my image"},
			`--power-image "my image" is not an image like homecluster.dev/power:latest`},
		"a webhook without a port": {[]string{"--namespace=home", "--webhook-bind-address=localhost"},
			`--webhook-bind-address "localhost" is not an address like :8080 or 127.0.0.1:8080: missing port in address`},
		"a webhook's certificate without its key": {[]string{"--namespace=home", "--grpc-insecure", "--tls-cert-file=/c"},
			"--tls-cert-file and --tls-key-file go together: pass both"},
		"names for a certificate that is there": {[]string{"--namespace=home", "--grpc-insecure", "--tls-cert-file=/c", "--tls-key-file=/k", "--tls-names=a"},
			"--tls-names contradicts --tls-cert-file: the names are those of the certificate in the file"},
		"a Secret that cannot be one": {[]string{"--namespace=home", "--grpc-insecure", "--tls-secret=My_Secret"},
			`--tls-secret "My_Secret" is not a Secret's name: ` + subdomain},
		"a Service that cannot be one": {[]string{"--namespace=home", "--grpc-insecure", "--webhook-service=a.b"},
			`--webhook-service "a.b" is not a Service's name: ` + label},
		"configurations that cannot be": {[]string{"--namespace=home", "--grpc-insecure", "--webhook-configuration=A"},
			`--webhook-configuration "A" is not a webhook configuration's name: ` + subdomain},
		"a name that is none": {[]string{"--namespace=home", "--grpc-insecure", "--tls-names=a b"},
			`--tls-names: "a b" is neither a DNS name nor an IP address`},
		"a certificate for nobody": {[]string{"--namespace=home", "--grpc-insecure", "--webhook-service="},
			"a certificate needs a name: pass --webhook-service or --tls-names"},
		"a start that may take no time": {[]string{"--namespace=home", "--grpc-insecure", "--start-timeout=0s"},
			"--start-timeout 0s is not positive"},
		"a lease shorter than its renewal": {[]string{"--namespace=home", "--grpc-insecure", "--leader-elect", "--leader-elect-lease-duration=5s"},
			"--leader-elect-lease-duration 5s must be longer than --leader-elect-renew-deadline 10s"},
		"a renewal with no room to retry": {[]string{"--namespace=home", "--grpc-insecure", "--leader-elect", "--leader-elect-retry-period=9s"},
			"--leader-elect-renew-deadline 10s must be more than 1.2 times --leader-elect-retry-period 9s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(test.args, environment(nil, nil))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACertificateIsMadeOnlyForAPortThatNeedsOne(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want bool
	}{
		"by default":                        {nil, true},
		"for the metrics alone":             {[]string{"--webhook-bind-address=0"}, true},
		"for the webhook alone":             {[]string{"--metrics-bind-address=0"}, true},
		"not for plaintext":                 {[]string{"--webhook-bind-address=0", "--metrics-insecure"}, false},
		"not for nobody":                    {[]string{"--webhook-bind-address=0", "--metrics-bind-address=0"}, false},
		"not where somebody else keeps one": {[]string{"--tls-cert-file=/c", "--tls-key-file=/k"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse(append([]string{"--namespace=home", "--grpc-insecure"}, test.args...), environment(nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			if c.OwnCertificate() != test.want {
				t.Errorf("a certificate of its own: %t", c.OwnCertificate())
			}
		})
	}
	c, err := Parse([]string{"--namespace=home", "--grpc-insecure", "--tls-names=127.0.0.1"}, environment(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"homelab-autoscaler-webhook.home.svc", "homelab-autoscaler-webhook.home.svc.cluster.local", "127.0.0.1"}
	if diff := cmp.Diff(want, c.CertificateNames()); diff != "" {
		t.Error(diff)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	if _, err := Parse([]string{"--help"}, environment(nil, nil)); !errors.Is(err, ErrHelp) {
		t.Errorf("--help answers %v", err)
	}
	usage := Usage()
	for _, flag := range []string{"-namespace", "-kubeconfig", "-grpc-bind-address", "-metrics-bind-address", "-health-probe-bind-address",
		"-grpc-insecure", "-grpc-cert-file", "-grpc-key-file", "-grpc-client-ca-file", "-grpc-allowed-client-names", "-leader-elect", "-leader-elect-lease-duration", "-start-timeout", "-job-priority-class", "-power-image", "-log-level", "-log-format", "-version",
		"-webhook-bind-address", "-webhook-configuration", "-webhook-service", "-metrics-insecure", "-tls-cert-file", "-tls-key-file", "-tls-secret", "-tls-names"} {
		if !strings.Contains(usage, "  "+flag) {
			t.Errorf("the help says nothing of %s", flag)
		}
	}
}

func TestRestConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // not in a pod
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := func(cluster, user string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
	}
	for name, test := range map[string]struct {
		path string
		want string
	}{
		"a kubeconfig that serves": {write("good", kubeconfig("", "token: t")), ""},
		"no kubeconfig and no pod": {"", "no API server to talk to: pass --kubeconfig or set KUBECONFIG (in a pod the service account is used)"},
		"a file that does not exist": {filepath.Join(dir, "none"),
			"reading kubeconfig DIR/none: stat DIR/none: no such file or directory"},
		"a directory": {dir, "reading kubeconfig DIR: it is a directory"},
		"a file that is no kubeconfig": {write("bad", "{"),
			`reading kubeconfig DIR/bad: error loading config file "DIR/bad": yaml: line 1: did not find expected node content`},
		"a CA that does not exist": {write("noca", kubeconfig(", certificate-authority: /nowhere/ca.crt", "token: t")),
			`reading kubeconfig DIR/noca: invalid configuration: unable to read certificate-authority /nowhere/ca.crt for c due to open /nowhere/ca.crt: no such file or directory`},
		"a CA that is none": {write("badca", kubeconfig(", certificate-authority: "+write("ca", "not PEM"), "token: t")),
			"reading the certificates of kubeconfig DIR/badca: unable to load root certificates: unable to parse bytes as PEM block"},
		"a client certificate that is none": {write("badcert", kubeconfig("", "client-certificate: "+write("crt", "no PEM")+", client-key: "+write("key", "no PEM"))),
			"reading the certificates of kubeconfig DIR/badcert: tls: failed to find any PEM data in certificate input"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Config{Kubeconfig: test.path}.RestConfig()
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
