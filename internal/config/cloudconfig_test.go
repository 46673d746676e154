package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCloudConfigSaysHowToReachTheProvider(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want string
	}{
		"plaintext": {"--address=127.0.0.1:50051 --insecure",
			"address: 127.0.0.1:50051\ngrpc_timeout: 10s\n"},
		"mutual TLS": {"--address=provider.home.svc:50051 --cert=/tls/tls.crt --key=/tls/tls.key --cacert=/tls/ca.crt --grpc-timeout=30s",
			"address: provider.home.svc:50051\ncacert: /tls/ca.crt\ncert: /tls/tls.crt\ngrpc_timeout: 30s\nkey: /tls/tls.key\n"},
		"an IPv6 address": {"--address=[::1]:1 --insecure",
			"address: '[::1]:1'\ngrpc_timeout: 10s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := ParseCloudConfig(strings.Fields(test.args))
			if err != nil {
				t.Fatal(err)
			}
			text, err := c.YAML()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACloudConfigThatCannotWorkIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want string
	}{
		"no address":            {"--insecure", "no provider to find: pass --address host:port"},
		"an address of no host": {"--address=:50051 --insecure", `--address ":50051" is not a host and a port like homelab-autoscaler.home.svc:50051`},
		"an address of no port": {"--address=home --insecure", `--address "home" is not a host and a port like homelab-autoscaler.home.svc:50051`},
		"no word on security": {"--address=home:1",
			"no certificates: pass --cert, --key and --cacert, or --insecure for a provider that serves plaintext"},
		"TLS without a certificate of its own": {"--address=home:1 --cacert=/ca",
			"cluster-autoscaler knows plaintext and mutual TLS only: pass all of --cert, --key and --cacert"},
		"plaintext and certificates": {"--address=home:1 --insecure --cert=/c --key=/k --cacert=/ca",
			"--insecure contradicts --cert, --key and --cacert: pass one or the other"},
		"a call that may take no time": {"--address=home:1 --insecure --grpc-timeout=0s", "--grpc-timeout 0s is not positive"},
		"a positional argument":        {"yaml", `unexpected argument "yaml": everything is told by flags, see --help`},
		"an unknown flag":              {"--nope", "flag provided but not defined: -nope, see --help"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseCloudConfig(strings.Fields(test.args))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := ParseCloudConfig([]string{"--help"}); !errors.Is(err, ErrHelp) {
		t.Errorf("--help answers %v", err)
	}
	if usage := CloudConfigUsage(); !strings.Contains(usage, "-cacert") {
		t.Errorf("the help is %q", usage)
	}
}
