package main

import (
	"io"
	"os"
	"time"
)

// Two variables tie a component to the process that started it. The lifeline is file descriptor 3, the reading end of
// a pipe whose other end only the starter holds: the kernel closes that end however the starter dies, SIGKILL and panic
// included, so nothing here depends on the starter's good manners, on an operating system's death signals, or on which
// thread forked.
const (
	lifelineVar = "HOMECLUSTER_LIFELINE"
	removeVar   = "HOMECLUSTER_REMOVE"
	lifelineFD  = 3
)

// holdLifeline ends this process when its starter is gone. If the starter also said which folder to remove, the
// component removes it on its way out; it tries for a moment, because etcd may be writing there until it dies too.
func holdLifeline() {
	if os.Getenv(lifelineVar) == "" {
		return
	}
	folder := os.Getenv(removeVar)
	line := os.NewFile(lifelineFD, "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, line)
		for range 20 {
			if folder == "" || os.RemoveAll(folder) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		os.Exit(0)
	}()
}
