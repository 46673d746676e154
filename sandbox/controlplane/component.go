package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tailLines is how much of a log is shown of a component that died.
const tailLines = 20

// component is one running process of the control plane.
type component struct {
	name    string
	log     string
	process *os.Process
	ended   chan struct{} // closed once the process is reaped; state may be read then
	state   *os.ProcessState
}

// launch starts a component with its output in its log. lifeline is the reading end of the pipe that ends the process
// when this one dies; remove, if not empty, is the folder it takes along then.
func launch(binary, name, logs string, lifeline *os.File, remove string, args []string) (*component, error) {
	path := filepath.Join(logs, name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()                                                // the child has its own
	command := &exec.Cmd{Path: binary, Args: append([]string{binary, name}, args...)} // no context bounds its life
	command.Stdout, command.Stderr = log, log
	command.Dir = filepath.Dir(logs)
	command.Env = append(environment(), "HOMECLUSTER_LIFELINE=1", "HOMECLUSTER_REMOVE="+remove)
	command.ExtraFiles = []*os.File{lifeline} // file descriptor 3
	// A group of its own: Ctrl-C in a terminal reaches the whole foreground group, and the sandbox wants to finish its
	// story on a living API server before it stops it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c := &component{name: name, log: path, process: command.Process, ended: make(chan struct{})}
	go func() {
		_ = command.Wait() // the state says all that the error would
		c.state = command.ProcessState
		close(c.ended)
	}()
	return c, nil
}

// environment is this process's own, less what etcd would read as flags that nobody gave it here.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ETCD_") })
}

// died describes the end of a component that should be running.
func (c *component) died() error {
	return fmt.Errorf("%s ended (%s); the end of its log:\n%s", c.name, c.state, tail(c.log, tailLines))
}

// kill ends the process and waits until it is gone. There is nothing to end gracefully: the data go with it.
func (c *component) kill() {
	_ = c.process.Kill()
	<-c.ended
}

// probeEvery is short because four components in a row wait on it at every start.
const probeEvery = 50 * time.Millisecond

// ready polls a component's own answer until it is 200, the context ends, or the process does.
func (c *component) ready(ctx context.Context, client *http.Client, url string) error {
	last := "no answer yet"
	for {
		ok, answer := probe(ctx, client, url)
		if ok {
			return nil
		}
		if answer != "" {
			last = answer
		}
		select {
		case <-c.ended:
			return c.died()
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be ready at %s (%s): %w; the end of its log:\n%s",
				c.name, url, last, context.Cause(ctx), tail(c.log, tailLines))
		case <-time.After(probeEvery):
		}
	}
}

// probe asks once. An answer that is not 200 is returned for the report; its last line names the failing check.
func probe(ctx context.Context, client *http.Client, url string) (bool, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return false, ""
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return response.StatusCode == http.StatusOK, response.Status + " " + strings.TrimSpace(string(body))
}

// tail returns the last lines of a file. Logs of an ending component are short, or their end is what matters.
func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "(its log cannot be read: " + err.Error() + ")"
	}
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return "(it wrote nothing)"
	}
	all := strings.Split(string(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
