package manager

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// readiness answers /readyz: ok, or why not. Its zero value is ready.
type readiness struct{ ask atomic.Pointer[func() error] }

// not says that the manager is not ready, and why.
func (r *readiness) not(why string) { r.when(func() error { return errors.New(why) }) }

// when leaves the answer to ask.
func (r *readiness) when(ask func() error) { r.ask.Store(&ask) }

func (r *readiness) err() error {
	if ask := r.ask.Load(); ask != nil {
		return (*ask)()
	}
	return nil
}

// ServeHTTP answers a probe.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if err := r.err(); err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
