package plugin_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/internal/plugin"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/house"
)

// TestWatchShowsChanges: the view is written again when a slot changes, and ends with its context.
func TestWatchShowsChanges(t *testing.T) {
	home := house.New(t).Home(t, house.Options{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reads := &lines{}
	command := plugin.New(strings.NewReader(""), reads, reads)
	command.SetArgs([]string{"watch", "--kubeconfig", home.ControlPlane.Kubeconfig(), "-n", home.Namespace})
	done := make(chan error, 1)
	go func() { done <- command.ExecuteContext(ctx) }()
	home.Eventually("a first view", func(context.Context) string { return reads.lacks("off") })
	shell{t, home}.run("hold", home.Machine, "--reason", "to be seen")
	home.Eventually("a second view", func(context.Context) string { return reads.lacks("held") })
	stop()
	if err := <-done; err != nil {
		t.Errorf("watch ended with %v", err)
	}
}

// TestWatchOutlivesItsWatches: the API server ends each watch after a while, here after a moment, and nobody has to notice.
func TestWatchOutlivesItsWatches(t *testing.T) {
	home := house.New(t).Home(t, house.Options{})
	ended := &atomic.Int32{}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reads := &lines{}
	command := plugin.New(strings.NewReader(""), reads, reads)
	command.SetArgs([]string{"watch", "--kubeconfig", shortWatches(t, home.ControlPlane, ended), "-n", home.Namespace})
	done := make(chan error, 1)
	go func() { done <- command.ExecuteContext(ctx) }()
	home.Eventually("the ends of the first watches", func(context.Context) string {
		if n := ended.Load(); n < 4 {
			return fmt.Sprintf("%d watches have ended", n)
		}
		return ""
	})
	shell{t, home}.run("hold", home.Machine, "--reason", "to be seen")
	home.Eventually("a view after them", func(context.Context) string { return reads.lacks("held") })
	stop()
	if err := <-done; err != nil {
		t.Errorf("watch ended with %v", err)
	}
}

// shortWatches is a kubeconfig by which each watch ends soon, and counts those.
func shortWatches(t *testing.T, cp *controlplane.ControlPlane, ended *atomic.Int32) string {
	t.Helper()
	to, err := url.Parse(cp.URL())
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.FlushInterval, forward.ErrorLog = -1, log.New(io.Discard, "", 0)
	if forward.Transport, err = rest.TransportFor(cp.Config()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			forward.ServeHTTP(out, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
		defer cancel()
		defer ended.Add(1)
		forward.ServeHTTP(out, r.WithContext(ctx))
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cp.WriteKubeconfig(file, &rest.Config{Host: server.URL}); err != nil {
		t.Fatal(err)
	}
	return file
}
