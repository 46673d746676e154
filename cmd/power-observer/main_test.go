package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outcome runs the program to its end, with nothing in its environment.
func outcome(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	for _, name := range []string{"KUBECONFIG", "POD_NAMESPACE", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
	var said, complained strings.Builder
	code = run(t.Context(), args, &said, &complained)
	return code, said.String(), complained.String()
}

// kubeconfig leads to an API server at that URL.
func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {token: t}}]}`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestABadStartIsOneClearLine(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	port, good := taken.Addr().String(), kubeconfig(t, "http://127.0.0.1:1")
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown flag":       {[]string{"--nope"}, exitUsage, "flag provided but not defined: -nope, see --help"},
		"a positional argument": {[]string{"--namespace=home", "run"}, exitUsage, `unexpected argument "run": everything is told by flags, see --help`},
		"a value out of range": {[]string{"--namespace=home", "--bind-address=:70000"}, exitUsage,
			`--bind-address ":70000" is not an address like :8081 or 127.0.0.1:8081: port "70000" is not between 0 and 65535`},
		"no namespace": {[]string{"--kubeconfig=" + good}, exitUsage,
			"no namespace to serve: pass --namespace or set POD_NAMESPACE (in a pod it is read from the service account)"},
		"no way to an API server": {[]string{"--namespace=home"}, exitFailed,
			"no API server to talk to: pass --kubeconfig or set KUBECONFIG (in a pod the service account is used)"},
		"a kubeconfig that does not exist": {[]string{"--namespace=home", "--kubeconfig=/nowhere/config"}, exitFailed,
			"reading kubeconfig /nowhere/config: stat /nowhere/config: no such file or directory"},
		"an address that is taken": {[]string{"--namespace=home", "--kubeconfig=" + good, "--bind-address=" + port}, exitFailed,
			"taking the address of --bind-address: listen tcp " + port + ": bind: address already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, complaints := outcome(t, test.args...)
			if diff := cmp.Diff([]any{test.code, "", "power-observer: " + test.want + "\n"}, []any{code, out, complaints}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHelpIsNoFault(t *testing.T) {
	code, out, complaints := outcome(t, "--help")
	if code != 0 || complaints != "" || !strings.Contains(out, "-bind-address") {
		t.Errorf("exit code %d, output %q, complaints %q", code, out, complaints)
	}
	if code := run(t.Context(), []string{"--help"}, full{}, full{}); code != exitFailed {
		t.Errorf("help that nobody can read: exit code %d", code)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrInvalid }

// While there is no API server it lives, is not ready, and goes when it is told to.
func TestItLivesWithoutAnAPIServerAndIsNotReady(t *testing.T) {
	refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(refused.Close)
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	args := []string{"--namespace=home", "--kubeconfig=" + kubeconfig(t, refused.URL), "--bind-address=" + address}
	go func() {
		var out, complaints strings.Builder
		code := run(ctx, args, &out, &complaints)
		ended <- fmt.Sprint(code, out.String(), complaints.String())
	}()
	t.Cleanup(stop)
	for path, want := range map[string]string{
		"/healthz": "200 ok\n<nil>", "/readyz": "503 not ready: no slots and claims are seen yet\n<nil>",
	} {
		if got := answer(t, "http://"+address+path); got != want {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
	stop()
	if got := <-ended; got != "0" {
		t.Errorf("it ends with %s", got)
	}
}

// answer is what is answered once somebody listens.
func answer(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", string(text), err))
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
