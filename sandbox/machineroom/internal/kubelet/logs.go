package kubelet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// followEvery is how often a followed log is looked at again.
const followEvery = 200 * time.Millisecond

// ErrNoSuchPod is returned for a pod or container that this node does not run.
var ErrNoSuchPod = errors.New("no such pod or container on this node")

// LogOptions are what a reader of a log may ask for.
type LogOptions struct {
	// Tail is how many lines from the end; negative means all.
	Tail int
	// Limit bounds the bytes; 0 means no bound.
	Limit int64
	// Follow goes on until the pod ends.
	Follow bool
}

// Logs writes a container's output to w. A sleeper's is empty.
func (k *Kubelet) Logs(ctx context.Context, namespace, pod, container string, opts LogOptions, w io.Writer) error {
	run := k.findRun(namespace, pod, container)
	if run == nil {
		return ErrNoSuchPod
	}
	if opts.Limit > 0 {
		w = &limited{w: w, left: opts.Limit}
	}
	var offset int64
	for {
		over := run.over()
		n, err := copyLog(w, run.logFile(container), offset, opts.Tail)
		if errors.Is(err, errLimit) {
			return nil
		}
		if err != nil {
			return err
		}
		offset, opts.Tail = offset+n, -1
		if !opts.Follow || over || !pause(ctx, followEvery) {
			return nil
		}
	}
}

func (k *Kubelet) findRun(namespace, pod, container string) *podRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, run := range k.runs {
		if run.pod.Namespace != namespace || run.pod.Name != pod {
			continue
		}
		for _, c := range slices.Concat(run.pod.Spec.InitContainers, run.pod.Spec.Containers) {
			if c.Name == container {
				return run
			}
		}
	}
	return nil
}

// over says whether the pod writes no more.
func (r *podRun) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return terminal(r.status.Phase)
}

// copyLog copies what the file holds from offset on, less what precedes the last tail lines, and returns how much of
// the file it went through.
func copyLog(w io.Writer, path string, offset int64, lines int) (int64, error) {
	log, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening log: %w", err)
	}
	defer func() { _ = log.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(log, offset, 1<<62))
	if err != nil {
		return 0, fmt.Errorf("reading log: %w", err)
	}
	shown := text
	switch {
	case lines == 0:
		shown = nil
	case lines > 0:
		shown = lastLines(text, lines)
	}
	_, err = io.Copy(w, bytes.NewReader(shown))
	return int64(len(text)), err
}

var errLimit = errors.New("log limit reached")

// limited stops a log at a number of bytes.
type limited struct {
	w    io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) < l.left {
		n, err := l.w.Write(p)
		l.left -= int64(n)
		return n, err
	}
	n, err := l.w.Write(p[:l.left])
	l.left -= int64(n)
	if err == nil {
		err = errLimit
	}
	return n, err
}
