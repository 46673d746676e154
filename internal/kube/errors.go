package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// ErrPresent is what a live read found although a decision relied on its absence.
var ErrPresent = errors.New("is there after all")

// ErrChanged is an object that is no longer what a decision was made on.
var ErrChanged = errors.New("has changed since it was read")

// ErrForeignJob is a Job that has the wanted name and another owner.
var ErrForeignJob = errors.New("another owner has a Job of this name")

// Class is what an API error means to whoever wrote.
type Class string

// The classes.
const (
	// None is no error.
	None Class = ""
	// Conflict is an object that changed since it was read, or whose absence was assumed in vain: read it again.
	Conflict Class = "conflict"
	// Gone is an object that no longer exists, or exists under another UID: read it again.
	Gone Class = "gone"
	// Exists is a name that is taken.
	Exists Class = "exists"
	// Denied is a lack of rights: nothing helps but a person.
	Denied Class = "denied"
	// Unserved is a kind the API server does not know: a CRD is missing.
	Unserved Class = "unserved"
	// Invalid is an object that the API server refuses as it is.
	Invalid Class = "invalid"
	// Transient is all the rest: the same write may pass later.
	Transient Class = "transient"
)

// Classify is the one place that reads API errors.
func Classify(err error) Class {
	switch {
	case err == nil:
		return None
	case errors.Is(err, ErrPresent), errors.Is(err, ErrChanged), apierrors.IsConflict(err):
		return Conflict
	case meta.IsNoMatchError(err):
		return Unserved
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return Gone
	case errors.Is(err, ErrForeignJob), apierrors.IsAlreadyExists(err):
		return Exists
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return Denied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return Invalid
	}
	return Transient
}

// DecideAgain is whether a refused write only says that the decision was taken on an outdated reading. It is the
// ordinary fate of a stale cache or of a paused old leader, and no fault.
func DecideAgain(err error) bool {
	switch Classify(err) {
	case Conflict, Gone, Exists:
		return true
	}
	return false
}
