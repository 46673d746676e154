package model

import (
	"errors"
	"testing"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// generous allows a little of everything.
func generous() Budget {
	var b Budget
	for kind := range b {
		b[kind] = 2
	}
	return b
}

func TestAWriteOnAnOutdatedReadingIsRefused(t *testing.T) {
	s := New(generous())
	s.handClaim()
	observed := s.Claims[0]
	if _, err := s.updateClaim(observed, func(c *v2.NodeClaim) { c.Status.Attempt = 1 }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.updateClaim(observed, func(c *v2.NodeClaim) { c.Status.Attempt = 2 }); !errors.Is(err, errRefused) {
		t.Fatalf("the second write on the first reading: %v", err)
	}
	if observed.Status.Attempt != 0 || s.Claims[0].Status.Attempt != 1 {
		t.Fatalf("what was observed says attempt %d, what is kept %d", observed.Status.Attempt, s.Claims[0].Status.Attempt)
	}
}

func TestWhatIsDeletedStaysAsLongAsItHasAFinalizer(t *testing.T) {
	s := New(generous())
	s.handClaim()
	held, err := s.updateClaim(s.Claims[0], func(c *v2.NodeClaim) { c.Finalizers = []string{v2.FinalizerNodeClaim} })
	must(err)
	must(s.deleteClaim(held))
	if len(s.Claims) != 1 || s.Claims[0].DeletionTimestamp == nil {
		t.Fatal("it is gone")
	}
	s.strip(s.Claims[0])
	if len(s.Claims) != 0 {
		t.Fatal("it is still there")
	}
}

func TestTheGenerationRisesWithTheSpecAndWhenADeletionBegins(t *testing.T) {
	s := New(generous())
	s.handClaim()
	generation := func(want int64, after string) {
		t.Helper()
		if got := s.Claims[0].Generation; got != want {
			t.Fatalf("generation %d after %s, want %d", got, after, want)
		}
	}
	write := func(change func(*v2.NodeClaim)) {
		_, err := s.updateClaim(s.Claims[0], change)
		must(err)
	}
	generation(1, "its creation")
	write(func(c *v2.NodeClaim) { c.Status.Attempt, c.Finalizers = 1, []string{v2.FinalizerNodeClaim} })
	generation(1, "a write of status and metadata")
	write(func(c *v2.NodeClaim) { c.Spec.DeadlineAt = nil })
	generation(2, "its deadline was cleared")
	s.mark(0)
	generation(3, "DeleteNodes was recorded")
	must(s.deleteClaim(s.Claims[0]))
	must(s.deleteClaim(s.Claims[0]))
	generation(4, "two deletes")
}

func TestTheCollectorTakesWhatHasNoOwnerLeft(t *testing.T) {
	s := New(generous())
	e := NewWorld()
	for _, m := range e.moves(&s, mustDecide(t, e, &s)) {
		if m.Event < reconcile && e.events[m.Event].name == "IncreaseSize takes the slot" {
			s = *e.again(&s, m).After
		}
	}
	s.handClaim()
	must(s.deleteSlot())
	if !s.garbage() {
		t.Fatal("nothing to collect")
	}
	s.collectGarbage()
	if len(s.Claims) != 1 || len(s.Claims[0].OwnerReferences) != 0 {
		t.Fatalf("%d claims left, want the hand-made one, which nobody owns", len(s.Claims))
	}
}

// TestAMoveLeavesItsStateAlone is what sharing objects between states stands on.
func TestAMoveLeavesItsStateAlone(t *testing.T) {
	var keys keyer
	w := NewWorld()
	d := dice(7)
	s := New(episodeBudget(&d, Obedient))
	for range 60 {
		before := keys.key(&s)
		decided := mustDecide(t, w, &s)
		moves := w.moves(&s, decided)
		if len(moves) == 0 {
			s = New(episodeBudget(&d, Obedient)) // at its end; another one
			continue
		}
		for _, m := range moves {
			_, err := w.apply(&s, m, s.Input(), decided)
			if err != nil {
				t.Fatal(err)
			}
			if keys.key(&s) != before {
				t.Fatalf("%s changed the state it was made in", w.describe(&s, m))
			}
		}
		s = *w.again(&s, moves[d.below(len(moves))]).After
	}
}

// TestTheKeyKnowsNoAbsoluteTimesNorNames but it knows everything else.
func TestTheKeyKnowsNoAbsoluteTimesNorNames(t *testing.T) {
	var keys keyer
	at := func(now time.Time, serial uint32) State {
		s := State{Now: now, serial: serial, Left: generous()}
		s.Group = &v2.Group{ObjectMeta: s.meta(group)}
		s.createSlot()
		s.handClaim()
		return s
	}
	a, b := at(epoch, 0), at(epoch.Add(time.Hour), 40)
	if keys.key(&a) != keys.key(&b) {
		t.Error("the same world an hour later has another key")
	}
	b.Now = b.Now.Add(time.Second)
	if keys.key(&a) == keys.key(&b) {
		t.Error("a claim that is a second older has the same key")
	}
}

func mustDecide(t *testing.T, w *World, s *State) slot.Decision {
	t.Helper()
	_, decided, broken := w.decideJudged(s)
	if broken != nil {
		t.Fatal(broken)
	}
	return decided
}
