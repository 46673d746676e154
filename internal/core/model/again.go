package model

import (
	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// lawAgain is judged by living one more life after a history has come to rest.
const lawAgain = "a slot at rest serves again: a claim gets its machine in its time, and gives it back"

// serve lives one life without faults on a slot at rest: the provider takes it, the claim gets ready, DeleteNodes ends
// it, the machine is off. A slot that the provider does not offer, and a machine that is hidden from all evidence, are let
// be.
func (w *World) serve(s *State) (State, []Move, *Broken) {
	view, one := s.view()
	if s.Metal.On || pool.Offerable(view, one) != nil {
		return *s, nil, nil
	}
	w.Tally[lawAgain]++
	asked := *s
	must(asked.createClaim(pool.NewClaim(view, one, pool.Ask{Call: v2.CallIncreaseSize, Delta: 1, By: "cluster-autoscaler"})))
	served, history, broken := w.rest(&asked, map[Key]bool{})
	if broken != nil {
		return asked, history, broken
	}
	if c := served.wanted(); c == nil || c.Status.Phase != v2.ClaimReady || !served.Metal.On {
		return asked, history, &Broken{Law: lawAgain, How: "it did not get its machine"}
	}
	ended := *served
	must(ended.deleteClaim(ended.mark(0)))
	off, history, broken := w.rest(&ended, map[Key]bool{})
	if broken == nil && (off.Metal.On || len(off.Claims) > 0) {
		broken = &Broken{Law: lawAgain, How: "it did not give it back"}
	}
	return ended, history, broken
}
