package slot_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// mutantHistories is how many random histories a mutant may survive before it counts as alive.
const mutantHistories = 2_000

type mutant struct {
	step  model.Step
	rules model.Rules
}

// without is Step without one stage.
func without(stage string) mutant {
	return mutant{step: slot.StepBy(slices.DeleteFunc(slot.Stages(), func(s string) bool { return s == stage })...), rules: model.TheRules()}
}

// swapped is Step with two stages in each other's place.
func swapped(a, b string) mutant {
	names := slot.Stages()
	i, j := slices.Index(names, a), slices.Index(names, b)
	names[i], names[j] = names[j], names[i]
	return mutant{step: slot.StepBy(names...), rules: model.TheRules()}
}

// committed is Step as it is under other rules of commit.
func committed(change func(*model.Rules)) mutant {
	rules := model.TheRules()
	change(&rules)
	return mutant{step: slot.Step, rules: rules}
}

// seeing is Step on a changed Input; deciding changes its Decision.
func seeing(change func(*slot.Input)) mutant {
	return mutant{rules: model.TheRules(), step: func(in slot.Input) (slot.Decision, error) {
		change(&in)
		return slot.Step(in)
	}}
}

func deciding(change func(*slot.Decision)) mutant {
	return mutant{rules: model.TheRules(), step: func(in slot.Input) (slot.Decision, error) {
		d, err := slot.Step(in)
		change(&d)
		return d, err
	}}
}

func mutants() map[string]mutant {
	all := map[string]mutant{
		"deadline before gate": swapped("gate", "deadline"),
		"actions before claim statuses": committed(func(r *model.Rules) {
			r.Order = []model.Section{model.Finalizers, model.Actions, model.ClaimStatuses, model.SlotStatusWrite, model.Removals}
		}),
		"finalizers after claim statuses": committed(func(r *model.Rules) {
			r.Order = []model.Section{model.ClaimStatuses, model.Finalizers, model.SlotStatusWrite, model.Actions, model.Removals}
		}),
		"removals first": committed(func(r *model.Rules) {
			r.Order = []model.Section{model.Removals, model.Finalizers, model.ClaimStatuses, model.SlotStatusWrite, model.Actions}
		}),
		"removals before the slot's status": committed(func(r *model.Rules) {
			r.Order = []model.Section{model.Finalizers, model.ClaimStatuses, model.Removals, model.SlotStatusWrite, model.Actions}
		}),
		"the kubeNode is not read again":  committed(func(r *model.Rules) { r.BlindEvidence = true }),
		"absences are not read again":     committed(func(r *model.Rules) { r.BlindAbsences = true }),
		"Jobs are created without a look": committed(func(r *model.Rules) { r.BlindCreates = true }),
		"writes carry no version":         committed(func(r *model.Rules) { r.BlindWrites = true }),
		"deletionTimestamp is ignored":    seeing(ignoreDeletion),
		"the Job's uid is not recorded":   deciding(forgetUIDs),
		"no finalizer is added":           deciding(func(d *slot.Decision) { d.Finalizers = nil }),
		"no finalizer is dropped":         deciding(keepFinalizers),
		"no wake is asked for": deciding(func(d *slot.Decision) {
			*d = slot.Decision{Assumes: d.Assumes, Brake: d.Brake, Finalizers: d.Finalizers, Claims: d.Claims, Slot: d.Slot, Actions: d.Actions, Removals: d.Removals, Notes: d.Notes}
		}),
		"no event is published":                                       deciding(func(d *slot.Decision) { d.Notes = nil }),
		"the hold is not seen":                                        seeing(ignoreHold),
		"two live claims need not settle":                             seeing(func(in *slot.Input) { in.Policy.SupersedeSettle = 0 }),
		"a lost machine needs no patience":                            seeing(func(in *slot.Input) { in.Policy.MachineGone = 1 }),
		"a machine that is on looks silent":                           seeing(func(in *slot.Input) { in.KubeNode = nil }),
		"registrations that nobody saw are not read off the kubeNode": seeing(ageKubeNode),
		"a boot's window ends when the boot does":                     seeing(closeWindows),
		"what a switch has said all along is news":                    seeing(newsOfOld),
		"readings never grow old":                                     seeing(func(in *slot.Input) { in.Policy.ReadingMaxAge = 1000 * time.Hour }),
		"clocks are taken to agree":                                   seeing(func(in *slot.Input) { in.Policy.ClockSkew = 0 }),
		"unfinished Jobs are not seen":                                seeing(func(in *slot.Input) { in.Jobs = nil }),
	}
	for _, stage := range slot.Stages() {
		all["without stage "+stage] = without(stage)
	}
	for _, clause := range slot.OffClauses() {
		all["off rule without: "+clause] = mutant{step: slot.StepWithoutOffClause(clause), rules: model.TheRules()}
	}
	return all
}

// newsOfOld makes every reading look like the first that said so.
func newsOfOld(in *slot.Input) {
	if in.Slot == nil || in.Slot.Status.PowerReading == nil {
		return
	}
	in.Slot = in.Slot.DeepCopy()
	in.Slot.Status.PowerReading.Since = in.Slot.Status.PowerReading.ObservedAt
}

func ignoreDeletion(in *slot.Input) {
	in.Claims = slices.Clone(in.Claims)
	for i, c := range in.Claims {
		copied := *c
		copied.DeletionTimestamp = nil
		in.Claims[i] = &copied
	}
}

// ageKubeNode makes the kubeNode look as if nothing had happened to it for a year.
func ageKubeNode(in *slot.Input) {
	if in.KubeNode == nil {
		return
	}
	old := metav1.NewTime(in.Now.AddDate(-1, 0, 0))
	in.KubeNode = in.KubeNode.DeepCopy()
	in.KubeNode.CreationTimestamp = old
	for i := range in.KubeNode.Status.Conditions {
		in.KubeNode.Status.Conditions[i].LastTransitionTime = old
	}
}

func ignoreHold(in *slot.Input) {
	if in.Slot != nil {
		copied := *in.Slot
		copied.Annotations = nil
		in.Slot = &copied
	}
}

// closeWindows makes the window of every boot that is being reversed look as if it were over.
func closeWindows(in *slot.Input) {
	in.Claims = slices.Clone(in.Claims)
	for i, c := range in.Claims {
		if facts.OwesReversal(c, in.Slot) {
			copied := *c
			copied.Spec.DeadlineAt = new(metav1.NewTime(in.Now))
			in.Claims[i] = &copied
		}
	}
}

func forgetUIDs(d *slot.Decision) {
	for i := range d.Claims {
		records := slices.Clone(d.Claims[i].Status.Jobs)
		for j := range records {
			records[j].UID = ""
		}
		d.Claims[i].Status.Jobs = records
	}
}

func keepFinalizers(d *slot.Decision) {
	d.Removals = slices.DeleteFunc(d.Removals, func(r slot.Removal) bool { _, drops := r.(slot.DropFinalizer); return drops })
}

// TestMutantsDie changes one thing at a time and expects a named law to notice. The table is the proof that the laws can
// fail. Without a change none does: TestRandomHistories of core/model plays the same seeds.
func TestMutantsDie(t *testing.T) {
	all := mutants()
	table := []string{fmt.Sprintf("%-60s %7s %5s  %s", "mutant", "history", "moves", "killed by the law")}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w := model.NewWorld()
		w.Step, w.Rules = all[name].step, all[name].rules
		killer, after := kill(w)
		if killer == nil {
			t.Errorf("mutant %q survives %d histories", name, mutantHistories)
			continue
		}
		if !slices.ContainsFunc(model.LawNames(), func(law string) bool { return law == killer.Law }) {
			t.Errorf("mutant %q dies of %q, which is no law", name, killer.Law)
		}
		table = append(table, fmt.Sprintf("%-60s %7d %5d  %s", name, after, killer.Moves, killer.Law))
	}
	t.Log("\n" + strings.Join(table, "\n"))
	t.Logf("proved: mutants killed %d", len(table)-1)
}

// kill plays histories until a law breaks.
func kill(w *model.World) (broken *model.Broken, after int) {
	for seed := range mutantHistories {
		if h := w.Episode(uint64(seed + 1)); h.Broken != nil {
			return h.Broken, seed + 1
		}
	}
	return nil, mutantHistories
}
