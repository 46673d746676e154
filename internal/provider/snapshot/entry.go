package snapshot

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// ownWriteFor is how long a write of this process is shown though no informer confirmed it. An object that came and went
// between two lists of an informer is never told of, and must not stay for ever.
const ownWriteFor = 30 * time.Second

// entry is everything known of one slot.
type entry struct {
	slot   *v2.Node
	claims map[types.UID]*record
	jobs   map[string]*batchv1.Job

	// view is the slot as it was at the last change, shown until viewUntil if that is set.
	view      pool.Slot
	viewUntil time.Time
	// parts is the slot as its groups count it, by group. Only what a count has taken in is here.
	parts map[string]pool.Part
	// The keys under which the store indexed the entry.
	groups, ids []string
	kubeNode    string
}

// record is one claim: as the informer told of it last, and as this process wrote it since.
type record struct {
	seen *v2.NodeClaim
	own  *v2.NodeClaim
	// gone is whether own stands for a delete, which only the claim's end, or its deletionTimestamp, confirms.
	gone  bool
	until time.Time
}

func newEntry() *entry {
	return &entry{claims: map[types.UID]*record{}, jobs: map[string]*batchv1.Job{}, parts: map[string]pool.Part{}}
}

func (e *entry) empty() bool { return e.slot == nil && len(e.claims) == 0 && len(e.jobs) == 0 }

func (e *entry) record(uid types.UID) *record {
	if e.claims[uid] == nil {
		e.claims[uid] = &record{}
	}
	return e.claims[uid]
}

func (e *entry) observe(claim *v2.NodeClaim) {
	r := e.record(claim.UID)
	r.seen = claim
	switch {
	case r.own == nil:
	case r.gone && claim.DeletionTimestamp == nil:
	case !r.gone && newer(r.own, claim):
	default:
		r.own, r.gone = nil, false
	}
}

func (e *entry) wrote(claim *v2.NodeClaim, now time.Time) {
	r := e.record(claim.UID)
	if r.gone || r.seen != nil && newer(r.seen, claim) {
		return
	}
	r.own, r.until = claim.DeepCopy(), now.Add(ownWriteFor)
}

func (e *entry) deleted(claim *v2.NodeClaim, now time.Time) {
	r, known := e.claims[claim.UID]
	if !known {
		return
	}
	going := claim
	if r.seen != nil && newer(r.seen, claim) {
		going = r.seen
	}
	if going.DeletionTimestamp == nil {
		going = going.DeepCopy()
		going.DeletionTimestamp = &metav1.Time{Time: now}
	}
	r.own, r.gone, r.until = going, true, now.Add(ownWriteFor)
}

// effective are the claims to show at a time, in no order.
func (e *entry) effective(now time.Time) []*v2.NodeClaim {
	claims := make([]*v2.NodeClaim, 0, len(e.claims))
	for uid, r := range e.claims {
		if r.own != nil && !now.Before(r.until) {
			r.own, r.gone = nil, false
		}
		switch {
		case r.own != nil:
			claims = append(claims, r.own)
		case r.seen != nil:
			claims = append(claims, r.seen)
		default:
			delete(e.claims, uid)
		}
	}
	return claims
}

// validUntil is when an unconfirmed write stops being shown; zero: there is none.
func (e *entry) validUntil() (until time.Time) {
	for _, r := range e.claims {
		if r.own != nil && (until.IsZero() || r.until.Before(until)) {
			until = r.until
		}
	}
	return until
}

// newer is whether a is a later state than b of one object. Versions that cannot be compared are taken as they come.
func newer(a, b *v2.NodeClaim) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
