package process

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"homecluster.dev/autoscaler/internal/power"
)

func TestTheClockWaitsUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := Clock{}.Now()
	if err := (Clock{}).Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) || time.Since(began) > time.Minute {
		t.Errorf("it slept for %s: %v", time.Since(began), err)
	}
	if err := (Clock{}).Sleep(t.Context(), time.Millisecond); err != nil || !(Clock{}).Now().After(began) {
		t.Errorf("a short sleep: %v", err)
	}
}

// Kubernetes ends a pod by SIGTERM and then reads its termination log: how far the operation was stands there.
func TestAPodThatIsEndedSaysSo(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	go func() {
		if conn, err := silent.Accept(); err == nil { // the program is at work, its signals are caught
			defer func() { _ = conn.Close() }()
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			<-t.Context().Done()
		}
	}()
	log := filepath.Join(t.TempDir(), "termination-log")
	var out bytes.Buffer
	code := Run([]string{"status", "--http-status=http://" + silent.Addr().String(), "--timeout=1m", "--termination-log=" + log}, &out, &out)
	said, err := os.ReadFile(log)
	if err != nil || code != power.ExitCodes[power.Interrupted] || !strings.HasPrefix(string(said), "power status: interrupted: stopped from outside") {
		t.Errorf("exit code %d, %v: %s", code, err, said)
	}
}
