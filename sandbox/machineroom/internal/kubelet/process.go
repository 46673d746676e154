package kubelet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	// A kubelet keeps this much of the log as the termination message.
	messageLines = 80
	messageBytes = 2048
	// exitNotStarted is what a container runtime reports for a command that cannot be started.
	exitNotStarted = 128
	// maxLogTail bounds what is read of a log to find its last lines.
	maxLogTail = 64 << 10
)

// launch is a container's command made ready for this host.
type launch struct {
	argv []string
	env  []string
	dir  string
	// log is the file that takes the output; message the one that the container may write its last word to.
	log, message string
	// fallback takes the end of the log as the message of a container that failed without writing one.
	fallback bool
}

// process is a container whose command is a local process. It leads a process group of its own, so that ending it
// ends whatever it started, and on Linux it dies with the sandbox.
type process struct {
	launch launch
	cmd    *exec.Cmd
	log    *os.File
}

func (p *process) start(ctx context.Context) error {
	log, err := os.OpenFile(p.launch.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	p.log = log
	p.cmd = exec.CommandContext(ctx, p.launch.argv[0], p.launch.argv[1:]...)
	p.cmd.Cancel = func() error {
		p.signal(syscall.SIGKILL)
		return nil
	}
	p.cmd.Env, p.cmd.Dir = p.launch.env, p.launch.dir
	// Files, not pipes: a grandchild that keeps the output open must not hold up Wait.
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = ownGroup()
	// The death signal is tied to the thread that forked; this goroutine keeps it until wait returns.
	runtime.LockOSThread()
	if err := p.cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		_ = log.Close()
		return fmt.Errorf("starting %s: %w", p.launch.argv[0], err)
	}
	return nil
}

func (p *process) wait(stop <-chan struct{}, grace func() time.Duration) exit {
	defer runtime.UnlockOSThread()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// How it ended is read from ProcessState, which also tells a non-zero exit.
		_ = p.cmd.Wait()
	}()
	p.untilEnded(stop, ended, grace)
	// What the leader left behind in its group goes with it.
	p.signal(syscall.SIGKILL)
	_ = p.log.Close()
	return p.exit()
}

func (p *process) untilEnded(stop, ended <-chan struct{}, grace func() time.Duration) {
	var mercy <-chan time.Time
	for {
		select {
		case <-ended:
			return
		case <-mercy:
			p.signal(syscall.SIGKILL)
			<-ended
			return
		case <-stop:
			stop = nil
			p.signal(syscall.SIGTERM)
			timer := time.NewTimer(grace())
			defer timer.Stop()
			mercy = timer.C
		}
	}
}

// signal reaches the whole process group; a group that is already gone is fine.
func (p *process) signal(sig syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
}

func (p *process) exit() exit {
	state := p.cmd.ProcessState
	out := exit{code: int32(state.ExitCode()), reason: reasonError}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.signal = int32(status.Signal())
		out.code = 128 + out.signal
	}
	if out.code == 0 {
		out.reason = reasonCompleted
	}
	out.message = p.lastWords(out.code != 0)
	return out
}

// lastWords is the termination message: what the container wrote to its message file, else, where the pod asks for
// it and the container failed, the end of its log.
func (p *process) lastWords(failed bool) string {
	written, err := tail(p.launch.message)
	if err == nil && len(written) > 0 {
		return string(lastBytes(written, messageBytes))
	}
	if !failed || !p.launch.fallback {
		return ""
	}
	log, err := tail(p.launch.log)
	if err != nil {
		return ""
	}
	return string(lastBytes(lastLines(log, messageLines), messageBytes))
}

func tail(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-maxLogTail)
	out := make([]byte, info.Size()-from)
	n, err := file.ReadAt(out, from)
	if n < len(out) && err != nil {
		return nil, err
	}
	return out, nil
}

func lastLines(text []byte, n int) []byte {
	at := len(bytes.TrimRight(text, "\n"))
	for ; n > 0; n-- {
		at = bytes.LastIndexByte(text[:at], '\n')
		if at < 0 {
			return text
		}
	}
	return text[at+1:]
}

func lastBytes(text []byte, n int) []byte { return text[max(0, len(text)-n):] }
