package slot

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// checkLaws checks what holds of every decision, in every test that steps a world.
func (w *world) checkLaws(before, after Input, d Decision) {
	w.t.Helper()
	if !equality.Semantic.DeepEqual(before.Claims, after.Claims) || !equality.Semantic.DeepEqual(before.Slot, after.Slot) ||
		!equality.Semantic.DeepEqual(before.KubeNode, after.KubeNode) {
		w.t.Fatal("law broken: Step changed its Input")
	}
	again, err := Step(after)
	if err != nil || cmp.Diff(d.Lines(), again.Lines()) != "" {
		w.t.Fatalf("law broken: Step is not deterministic: %v\n%s", err, cmp.Diff(d.Lines(), again.Lines()))
	}
	var cordons, shutdowns, creates int
	for _, action := range d.Actions {
		switch a := action.(type) {
		case PatchKubeNode:
			if a.After.Spec.Unschedulable && !a.Before.Spec.Unschedulable {
				cordons++
			}
		case CreateJob:
			creates++
			if a.Job.Labels[v2.LabelOperation] == "shutdown" {
				shutdowns++
			}
		case DeleteKubeNode:
			if facts.KubeletOn(after.KubeNode) && facts.ReadingOf(after.Slot).State != v2.PowerOff {
				w.t.Fatal("law broken: the kubeNode is removed while the evidence says on")
			}
		}
	}
	if cordons > 0 && shutdowns > 0 {
		w.t.Fatal("law broken: a cordon and a power-off Job in one decision")
	}
	unfinished := 0
	for _, j := range after.Jobs {
		if !facts.JobFinished(j.Job) {
			unfinished++
		}
	}
	if creates+unfinished > 1 {
		w.t.Fatalf("law broken: %d unfinished lifecycle Jobs on one slot", creates+unfinished)
	}
	w.checkFinalizers(d)
	w.checkConditions(d)
}

// checkConditions checks that every condition has a reason and says something to a person.
func (w *world) checkConditions(d Decision) {
	w.t.Helper()
	var conditions []metav1.Condition
	for _, change := range d.Claims {
		conditions = append(conditions, change.Status.Conditions...)
	}
	if d.Slot != nil {
		conditions = append(conditions, d.Slot.Status.Conditions...)
	}
	for _, condition := range conditions {
		if condition.Reason == "" || condition.Message == "" || condition.LastTransitionTime.IsZero() {
			w.t.Fatalf("law broken: condition %+v is incomplete", condition)
		}
	}
}

// checkFinalizers checks that no machine is committed without a finalizer: a claim that becomes booting or ready has
// ours, or gets it in the same decision.
func (w *world) checkFinalizers(d Decision) {
	w.t.Helper()
	for _, change := range d.Claims {
		committed := change.Status.Phase == v2.ClaimBooting || change.Status.Phase == v2.ClaimReady
		gets := slices.ContainsFunc(d.Finalizers, func(f AddFinalizer) bool { return f.Claim == change.Claim })
		if committed && !gets && !facts.HasFinalizer(change.Claim) && change.Claim.DeletionTimestamp == nil {
			w.t.Fatalf("law broken: claim %s is committed without a finalizer", change.Claim.Name)
		}
	}
}
