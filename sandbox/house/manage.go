package house

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/manager"
)

// Journal keeps what managers log, to be read when a case fails.
type Journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *Journal) write(prefix, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, prefix+" "+text)
}

// Count is how many lines hold the text.
func (j *Journal) Count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, line := range j.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

func (j *Journal) logger() logr.Logger {
	return funcr.New(j.write, funcr.Options{LogTimestamp: true, Verbosity: 1})
}

// Manage starts a manager that reaches the API server as reach says, in place of the one that runs.
func (h *Home) Manage(reach *rest.Config) {
	h.T.Helper()
	h.Stop()
	c := config.Config{
		Namespace: h.Namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: config.Off, ProbeAddress: config.Off, StartTimeout: time.Minute,
		Webhook: config.Webhook{Address: h.webhook, Configuration: h.Namespace},
		TLS:     config.TLS{Secret: "certificate", Names: []string{"127.0.0.1"}},
	}
	if h.Configure != nil {
		h.Configure(&c)
	}
	var m *manager.Manager
	var err error
	// Between two managers of a home its address is free, and any connection of this computer may take it for a while.
	h.Eventually("its address being free", func(context.Context) string {
		m, err = manager.New(reach, c, manager.Options{Log: h.Log.logger(), Policy: &h.Policy, Clock: h.Clock})
		if errors.Is(err, syscall.EADDRINUSE) {
			return err.Error()
		}
		return ""
	})
	if err != nil {
		h.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	h.stop = func() {
		cancel()
		h.Log.write("ended:", fmt.Sprint(<-done)) // one whose connections were cut ends with an error, and may
		h.stop = func() {}
	}
}

// Stop ends the manager that runs, if any. What it announced is published then.
func (h *Home) Stop() { h.stop() }
