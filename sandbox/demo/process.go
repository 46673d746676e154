package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a program of the sandbox that runs beside it, its output in a log file.
type process struct {
	name, log string
	cmd       *exec.Cmd
	// ended is closed when the program has ended; cmd.ProcessState says how from then on.
	ended chan struct{}
}

// stopPatience is how long a program may take to stop by itself.
const stopPatience = 10 * time.Second

// start runs the program until stop, which alone ends it: a context ends abruptly, and nothing here shall. The process
// leads a group of its own, so that a Ctrl-C at the terminal reaches it only through stop, in order.
func start(ctx context.Context, logs, name, path string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(logs, name+".log"), ended: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), path, args...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = out, out, ownGroup()
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), out.Close())
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the state says all that the error would
		_ = out.Close()
	}()
	return p, nil
}

// stop asks the program to end, waits, and ends it and whatever it left behind if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// watch returns when the context ends, or with an error when the program ends before it.
func (p *process) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.ended:
		return fmt.Errorf("%s ended by itself (%s); it last said: %s", p.name, p.cmd.ProcessState, p.lastLine())
	}
}

// lastLine is the last thing the program said.
func (p *process) lastLine() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	trimmed := strings.TrimSpace(string(text))
	return trimmed[strings.LastIndexByte(trimmed, '\n')+1:]
}
