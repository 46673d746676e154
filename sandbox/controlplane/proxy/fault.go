package proxy

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is what happens at the chosen write.
type Kind int

const (
	// None lets everything pass.
	None Kind = iota
	// Cut is a crash point: the chosen write is applied and answered, and from then on every connection is cut, running
	// watches included, as if the client's machine had lost its power. At 0 everything is cut at once.
	Cut
	// Refuse answers the chosen write with Fault.Status instead of passing it on; later writes pass.
	Refuse
	// LoseAnswer applies the chosen write and answers it with a time-out; later writes pass.
	LoseAnswer
)

// String names the kind as test names and messages want it.
func (k Kind) String() string {
	return [...]string{"nothing", "cut after", "refuse", "lose the answer to"}[k]
}

// Fault is one misfortune among the writes of an episode.
type Fault struct {
	Kind Kind
	// At is the number of the chosen write, counted from 1 since Arm.
	At int
	// Status is the HTTP status of a refusal: 409, 429, 500, … Zero means 409, the refusal that every writer must
	// expect.
	Status int
}

// String describes the fault.
func (f Fault) String() string {
	if f.Kind == None {
		return f.Kind.String()
	}
	return fmt.Sprintf("%s write %d", f.Kind, f.At)
}

func (f Fault) hits(kind Kind, number int) bool { return f.Kind == kind && f.At == number }

// reasons are what client-go's error classes read.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// status is an answer of the shape that the API server gives.
func status(code int, message string) metav1.Status {
	reason, known := reasons[code]
	if !known {
		reason = metav1.StatusReasonUnknown
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}
