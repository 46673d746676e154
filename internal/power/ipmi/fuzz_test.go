package ipmi

import (
	"errors"
	"testing"
	"time"

	"homecluster.dev/autoscaler/internal/power"
)

// Whatever a BMC answers at whatever step, the switch says on, off or a fault, and does not crash. A seed changes one
// answer; fuzzing finds others.
func FuzzAnswers(f *testing.F) {
	f.Add(1, 3, 0, []byte{}, false)
	f.Add(2, 20, 0, []byte{0xff}, false)
	f.Add(3, 20, 0, []byte{0x00}, true)
	f.Add(4, 1000, 14, []byte{0xff, 0xff}, false)
	f.Add(5, 1000, 6, []byte{1, 2, 3, 4}, false)
	f.Add(5, 40, 0, []byte{}, false)
	f.Add(5, 1000, 16, []byte("0123456789abcdef0123456789abcdef"), false)
	f.Add(2, 1000, 16, make([]byte, 4000), true)
	f.Add(1, 1000, 5, []byte{0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, nth, keep, at int, put []byte, tail bool) {
		b := &box{on: true}
		address := between(t, b.serve(t), func(n int, answer []byte) [][]byte {
			if n == nth {
				answer = spoil(answer, keep, at, put, tail)
			}
			return [][]byte{answer}
		})
		state, err := the(t, address, func(o *Options) { o.Timeout = 100 * time.Millisecond }).State(t.Context())
		switch {
		case err == nil && state != power.On && state != power.Off:
			t.Errorf("the state is %q", state)
		case err != nil && !known(err):
			t.Errorf("the error has no class: %v", err)
		}
	})
}

// known is whether an error is one of the faults.
func known(err error) bool {
	for _, fault := range []error{
		power.ErrUnreachable, power.ErrUnanswered, power.ErrCredentials, power.ErrBusy, power.ErrRefused, power.ErrGarbled, power.ErrUnsupported,
	} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// spoil keeps the first bytes of an answer, writes others over it at a place, or hangs them on.
func spoil(answer []byte, keep, at int, put []byte, tail bool) []byte {
	spoiled := append([]byte{}, answer[:max(0, min(keep, len(answer)))]...)
	if tail {
		return append(spoiled, put...)
	}
	for i, value := range put {
		if j := at + i; j >= 0 && j < len(spoiled) {
			spoiled[j] = value
		}
	}
	return spoiled
}
