package slot

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// nobodys is a machine that came up with nobody's claim, and runs a pod that its budget keeps.
func nobodys(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.settle()
	w.kubelet("True")
	w.newPod("web")
	w.newBudget("web")
	w.settle()
	return w
}

// TestAMachineOfNobodysThatStaysOnTakesPodsAgain once it is not to be switched off any more.
func TestAMachineOfNobodysThatStaysOnTakesPodsAgain(t *testing.T) {
	tests := map[string]func(w *world){
		"the group now ignores such machines":        func(w *world) { w.groups["workers"].Spec.UnclaimedMachines = v2.UnclaimedIgnore },
		"the group now adopts such machines":         func(w *world) { w.groups["workers"].Spec.UnclaimedMachines = v2.UnclaimedAdopt },
		"the group is deleted":                       func(w *world) { delete(w.groups, "workers") },
		"it is the only machine left to run the Job": func(w *world) { w.protected = "no other could run the shutdown Job" },
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			w := nobodys(t)
			w.now = w.now.Add(2 * time.Minute)
			w.settle()
			if !w.kubeNode.Spec.Unschedulable {
				t.Fatal("it is not cordoned")
			}
			happen(w)
			w.settle()
			if _, ours := w.kubeNode.Annotations[v2.AnnotationCordoned]; ours || w.kubeNode.Spec.Unschedulable {
				t.Errorf("it is still cordoned:\n%s", w.printed.String())
			}
		})
	}
}

// TestAMachineThatRisesLateIsAdopted though it was drained for a reversal that ended with the assumption that it was off.
func TestAMachineThatRisesLateIsAdopted(t *testing.T) {
	w := newWorld(t)
	w.groups["workers"].Spec.UnclaimedMachines = v2.UnclaimedAdopt
	w.settle()
	w.kubelet("True")
	w.kubeNode.Spec.Unschedulable = true
	w.kubeNode.Annotations = map[string]string{v2.AnnotationCordoned: "it was being switched off"}
	w.kubeNode.Spec.Taints = []corev1.Taint{{Key: facts.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}}
	w.settle()
	w.now = w.now.Add(2 * time.Minute)
	w.settle()
	w.now = w.now.Add(time.Minute)
	w.settle()
	if len(w.claims) != 1 || w.claims[0].Status.Phase != v2.ClaimReady {
		t.Errorf("%d claims:\n%s", len(w.claims), w.printed.String())
	}
}

// TestADrainOfAMachineOfNobodysHasItsWholeTime however long the machine was left on before.
func TestADrainOfAMachineOfNobodysHasItsWholeTime(t *testing.T) {
	tests := map[string]struct{ leave, switchOff func(w *world) }{
		"it was protected": {func(w *world) { w.protected = "no other could run the shutdown Job" }, func(w *world) { w.protected = "" }},
		"its group ignored such machines": {
			func(w *world) { w.groups["workers"].Spec.UnclaimedMachines = v2.UnclaimedIgnore },
			func(w *world) { w.groups["workers"].Spec.UnclaimedMachines = "" },
		},
		"it was being drained before": {
			func(w *world) {
				w.now = w.now.Add(2 * time.Minute)
				w.settle()
				w.protected = "no other could run the shutdown Job"
			}, func(w *world) { w.protected = "" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := nobodys(t)
			test.leave(w)
			w.settle()
			w.now = w.now.Add(time.Hour)
			test.switchOff(w)
			w.settle()
			w.now = w.now.Add(5*time.Minute - time.Second)
			w.settle()
			if len(w.jobs) > 0 {
				t.Fatalf("it goes down before its pods had their time:\n%s", w.printed.String())
			}
			w.now = w.now.Add(time.Second)
			w.settle()
			if len(w.jobs) != 1 {
				t.Errorf("it does not go down when their time is over:\n%s", w.printed.String())
			}
		})
	}
}
