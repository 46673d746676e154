package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheObserverIsToldWhatToRead(t *testing.T) {
	env := Environment{Getenv: func(name string) string { return map[string]string{"POD_NAMESPACE": "home", "KUBECONFIG": "/k"}[name] }}
	for name, test := range map[string]struct {
		args string
		want Observer
	}{
		"nothing":    {"", Observer{Namespace: "home", Kubeconfig: "/k", Address: ":8081", Log: Log{Format: "text"}}},
		"everything": {"--namespace=lab --kubeconfig=/l --bind-address=0 --log-level=debug --log-format=json", Observer{Namespace: "lab", Kubeconfig: "/l", Address: Off, Log: Log{Format: "json", Level: -4}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseObserver(strings.Fields(test.args), env)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestTheObserverAnswersOneClearLine(t *testing.T) {
	env := Environment{Getenv: func(string) string { return "" }, ReadFile: func(string) ([]byte, error) { return nil, errors.New("no pod") }}
	for args, want := range map[string]string{
		"":                                     "no namespace to serve: pass --namespace or set POD_NAMESPACE (in a pod it is read from the service account)",
		"--namespace=Home":                     "--namespace \"Home\" is not a namespace's name",
		"--namespace=home --bind-address=8081": "--bind-address \"8081\" is not an address like :8081 or 127.0.0.1:8081",
		"--namespace=home --log-level=loud":    "--log-level \"loud\" is not one of debug, info, warn, error",
		"--namespace=home --log-format=xml":    "--log-format \"xml\" is not text or json",
		"--namespace=home now":                 "unexpected argument \"now\"",
		"--nope":                               "flag provided but not defined: -nope, see --help",
	} {
		_, err := ParseObserver(strings.Fields(args), env)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	if _, err := ParseObserver([]string{"--help"}, env); !errors.Is(err, ErrHelp) || !strings.Contains(ObserverUsage(), "-bind-address") {
		t.Errorf("help is %v, %s", err, ObserverUsage())
	}
}
