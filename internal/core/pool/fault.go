package pool

import "fmt"

// FaultKind is what a caller should make of a Fault. The provider has the one map from kinds to gRPC codes.
type FaultKind string

// The kinds of fault.
const (
	// Malformed is a request that no state of the world could answer.
	Malformed FaultKind = "Malformed"
	// Unknown is a request about something that does not exist, or is not offered to this client.
	Unknown FaultKind = "Unknown"
	// Refused is a request that the present state forbids; repeating it changes nothing.
	Refused FaultKind = "Refused"
	// Busy is a request that cannot be carried out yet; repeating it later may.
	Busy FaultKind = "Busy"
	// NotOffered is a question that this group leaves to the client's own settings.
	NotOffered FaultKind = "NotOffered"
)

// Fault is why a request is not carried out.
type Fault struct {
	Kind    FaultKind
	Message string
}

// Error is the message.
func (f *Fault) Error() string { return f.Message }

// Faultf makes a Fault.
func Faultf(kind FaultKind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
