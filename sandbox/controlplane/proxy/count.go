package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// count lets one write through, or what the fault makes of it, and records it. The caller holds the turn.
func (p *Proxy) count(out http.ResponseWriter, r *http.Request, write Write) {
	p.mu.Lock()
	fault, cut := p.fault, p.isCut()
	write.Number = len(p.writes) + 1
	p.mu.Unlock()
	switch {
	case cut:
		panic(http.ErrAbortHandler)
	case fault.hits(Refuse, write.Number):
		p.refuse(out, fault, write)
	default:
		p.apply(out, r, fault, write)
	}
}

func (p *Proxy) refuse(out http.ResponseWriter, fault Fault, write Write) {
	write.Status = fault.Status
	if write.Status == 0 {
		write.Status = http.StatusConflict
	}
	p.record(write)
	answer(out, status(write.Status, fmt.Sprintf("refused by the test: write %d, %s", write.Number, write)))
}

// apply has the API server do it first, whole, and tells the client afterwards: a client that is cut off in the middle
// must not decide whether the write counts.
func (p *Proxy) apply(out http.ResponseWriter, r *http.Request, fault Fault, write Write) {
	held := &heldAnswer{header: http.Header{}, code: http.StatusOK}
	p.forward.ServeHTTP(held, r.WithContext(context.WithoutCancel(r.Context())))
	write.Status, write.Applied = held.code, held.code < http.StatusMultipleChoices
	if write.Name == "" && write.Verb == "create" {
		write.Name = nameIn(held.body.Bytes())
	}
	p.record(write)
	if fault.hits(LoseAnswer, write.Number) {
		answer(out, status(http.StatusGatewayTimeout,
			fmt.Sprintf("answer lost by the test: write %d, %s", write.Number, write)))
	} else {
		held.release(out)
	}
	if fault.hits(Cut, write.Number) {
		_ = http.NewResponseController(out).Flush() // the answer is out before connections are cut
		p.mu.Lock()
		close(p.cut)
		p.mu.Unlock()
	}
}

func (p *Proxy) record(write Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, write)
}

// heldAnswer is an answer of the API server that is not given to the client yet.
type heldAnswer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (h *heldAnswer) Header() http.Header            { return h.header }
func (h *heldAnswer) WriteHeader(code int)           { h.code = code }
func (h *heldAnswer) Write(text []byte) (int, error) { return h.body.Write(text) }
func (h *heldAnswer) release(out http.ResponseWriter) {
	for name, values := range h.header {
		out.Header()[name] = values
	}
	out.WriteHeader(h.code)
	_, _ = out.Write(h.body.Bytes()) // a client that went away has what it deserves
}

// answer tells the client a status of our own.
func answer(out http.ResponseWriter, s metav1.Status) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(int(s.Code))
	_, _ = out.Write(text)
}

// Counts tells how often each (verb, resource) was written, as "create jobs", for a quick comparison.
func Counts(writes []Write) map[string]int {
	counts := map[string]int{}
	for _, write := range writes {
		counts[strings.Join([]string{write.Verb, write.Resource}, " ")]++
	}
	return counts
}
