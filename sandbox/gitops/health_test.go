package gitops_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// histories are enough to come by every state that the tests below ask for.
const histories = 80

// witness asks both tools about every different object it is shown.
type witness struct {
	t    *testing.T
	argo argoCD
	flux flux
	seen map[string]bool
	// found counts the objects by the sentence that they fit.
	found map[string]int
}

func newWitness(t *testing.T) *witness {
	return &witness{t: t, argo: newArgoCD(t), flux: newFlux(t), seen: map[string]bool{}, found: map[string]int{}}
}

// ask answers what is said of an object, and whether it is new.
func (w *witness) ask(kind string, object any) (shown, bool) {
	w.t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		w.t.Fatal(err)
	}
	delete(fields["metadata"].(map[string]any), "resourceVersion")
	text, err := json.Marshal(fields)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.seen[string(text)] {
		return shown{}, false
	}
	w.seen[string(text)] = true
	said, _ := w.argo.health(w.t, kind, fields)
	answer := shown{argo: said}
	if w.flux[kind] != nil {
		if answer.flux = w.flux.health(w.t, kind, fields); answer.flux != agree[answer.argo] {
			w.t.Errorf("Argo CD says %s, Flux %s: %s", answer.argo, answer.flux, text)
		}
	}
	return answer, true
}

// is fails where an object that fits the sentence has another health.
func (w *witness) is(sentence string, fits bool, said, want string, object any) {
	w.t.Helper()
	if !fits {
		return
	}
	w.found[sentence]++
	if said != want && w.found[sentence] < 3 {
		text, _ := json.Marshal(object)
		w.t.Errorf("%s is %s, want %s: %s", sentence, said, want, text)
	}
}

// wasSeen fails for a sentence that no object fitted.
func (w *witness) wasSeen(sentences ...string) {
	w.t.Helper()
	for _, sentence := range sentences {
		if w.found[sentence] == 0 {
			w.t.Errorf("%s: the histories came by none", sentence)
		}
	}
}

// lives plays random histories and shows each state.
func lives(t *testing.T, look func(*model.State)) {
	t.Helper()
	for seed := range uint64(histories) {
		w := model.NewWorld()
		w.Laws = nil
		w.Watch = func(m *model.Transition) { look(m.After) }
		w.Episode(seed)
	}
}

func TestTheHealthOfSlots(t *testing.T) {
	w := newWitness(t)
	const (
		onPurpose = "a machine that is off on purpose"
		serves    = "a machine that serves"
		boots     = "a machine that boots"
		held      = "a slot that is held"
		cooling   = "a slot that cools off"
		unclaimed = "a machine that nobody wants"
		unseen    = "a slot that nobody has looked at since it changed"
	)
	lives(t, func(s *model.State) {
		slot := s.Slot
		if slot == nil {
			return
		}
		answer, isNew := w.ask("Node", slot)
		if !isNew {
			return
		}
		is := func(kind string) bool { return meta.IsStatusConditionTrue(slot.Status.Conditions, kind) }
		looked := slot.Status.ObservedGeneration == slot.Generation && len(slot.Status.Conditions) > 0
		waits := is(v2.ConditionGroupMissing) || is(v2.ConditionUnclaimedMachine)
		wrong := is(v2.ConditionCoolingOff) || is(v2.ConditionProviderIDMismatch) || is(v2.ConditionCapacityDrift) || is(v2.ConditionPowerConflict)
		well := looked && !waits && !wrong && !is(v2.ConditionHeld)
		w.is(onPurpose, well && slot.Status.Phase == v2.SlotOff, answer.argo, "Healthy", slot)
		w.is(serves, well && slot.Status.Phase == v2.SlotReady, answer.argo, "Healthy", slot)
		w.is(boots, well && slot.Status.Phase == v2.SlotBooting, answer.argo, "Healthy", slot)
		w.is(held, looked && !waits && !wrong && is(v2.ConditionHeld), answer.argo, "Suspended", slot)
		w.is(cooling, looked && !waits && is(v2.ConditionCoolingOff), answer.argo, "Degraded", slot)
		w.is(unclaimed, looked && is(v2.ConditionUnclaimedMachine), answer.argo, "Progressing", slot)
		w.is(unseen, !looked, answer.argo, "Progressing", slot)
	})
	w.wasSeen(onPurpose, serves, boots, held, cooling, unclaimed, unseen)
}

func TestTheHealthOfClaims(t *testing.T) {
	w := newWitness(t)
	const (
		failed     = "a claim that failed"
		superseded = "a claim that another took over"
		completed  = "a claim that is completed"
		given      = "a live claim that is given back"
		coming     = "a claim whose machine is coming"
		ready      = "a claim whose machine is ready"
		silent     = "a claim whose machine fell silent"
	)
	lives(t, func(s *model.State) {
		for _, claim := range s.Claims {
			answer, isNew := w.ask("NodeClaim", claim)
			if !isNew {
				continue
			}
			phase, marked := facts.Phase(claim), claim.DeletionTimestamp != nil
			quiet := meta.IsStatusConditionTrue(claim.Status.Conditions, v2.ConditionMachineObservedOff)
			w.is(failed, phase == v2.ClaimFailed && claim.Status.Reason != v2.ReasonSuperseded, answer.argo, "Degraded", claim)
			w.is(superseded, phase == v2.ClaimFailed && claim.Status.Reason == v2.ReasonSuperseded, answer.argo, "Healthy", claim)
			w.is(completed, phase == v2.ClaimCompleted, answer.argo, "Healthy", claim)
			w.is(given, facts.Live(claim) && marked, answer.argo, "Progressing", claim)
			w.is(coming, (phase == v2.ClaimPending || phase == v2.ClaimBooting) && !marked, answer.argo, "Progressing", claim)
			w.is(ready, phase == v2.ClaimReady && !marked && !quiet, answer.argo, "Healthy", claim)
			w.is(silent, phase == v2.ClaimReady && !marked && quiet, answer.argo, "Degraded", claim)
		}
	})
	w.wasSeen(failed, superseded, completed, given, coming, ready, silent)
}

func TestTheHealthOfGroups(t *testing.T) {
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		observed   int64
		want       string
	}{
		"new":                          {nil, 0, "Progressing"},
		"changed":                      {conditions("Ready", "True", "Offered"), 1, "Progressing"},
		"offered":                      {conditions("Ready", "True", "Offered"), 2, "Healthy"},
		"no slot yet":                  {conditions("Ready", "False", pool.ReasonNoSlots), 2, "Healthy"},
		"a value that cannot be":       {conditions("Ready", "False", pool.ReasonInvalidSpec), 2, "Degraded"},
		"power Jobs that do not start": {append(conditions("Ready", "True", "Offered"), conditions("PowerJobsFailing", "True", "NeverStarted")...), 2, "Degraded"},
		"power Jobs that start":        {append(conditions("Ready", "True", "Offered"), conditions("PowerJobsFailing", "False", "Start")...), 2, "Healthy"},
		"boots that fail":              {append(conditions("BootsHealthy", "False", "Failing"), conditions("Ready", "True", "Offered")...), 2, "Degraded"},
		"slots that differ":            {append(conditions("Ready", "True", "Offered"), conditions("HeterogeneousCapacity", "True", "Unlike")...), 2, "Healthy"},
	} {
		t.Run(name, func(t *testing.T) {
			group := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "arm", Generation: 2}}
			group.Status.ObservedGeneration, group.Status.Conditions = test.observed, test.conditions
			if answer, _ := newWitness(t).ask("Group", group); answer.argo != test.want {
				t.Errorf("%s, want %s", answer.argo, test.want)
			}
		})
	}
}

func conditions(kind, status, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: "as " + reason}}
}
