package temperaments_test

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// pods are good machines in a cluster that has no room for their power pods, or does not let their own pods go.
func pods() map[string]scenario {
	brief := func(g *v2.GroupSpec) { g.Timeouts.StartupJob = house.Seconds(15) }
	return map[string]scenario{
		"is not switched on, since a quota refuses the power pod": {
			options: house.Options{Group: brief},
			play: func(h home) {
				h.allowNoPods()
				h.neverStarts("FailedCreate", "exceeded quota")
			},
		},
		"is not switched on, since no node has a place for the power pod": {
			options: house.Options{Group: brief, Slot: func(spec *v2.NodeSpec, _ *machineroom.Metal) {
				spec.StartupPodSpec.NodeSelector = map[string]string{"example.org/rack": "none"}
			}},
			play: func(h home) { h.neverStarts("Unschedulable", "0/") },
		},
		"is not switched on, since the Secret of its switch does not exist": {
			options: house.Options{Group: brief, Slot: func(spec *v2.NodeSpec, _ *machineroom.Metal) {
				spec.StartupPodSpec.Volumes = []v2.Volume{{Name: "switch", MountPath: "/etc/power/switch", SecretName: "no-such-secret"}}
			}},
			play: func(h home) { h.neverStarts("FailedMount", `"no-such-secret" not found`) },
		},
		"goes down though a budget holds its pod back, which goes with it": {
			play: home.drainsInVain,
		},
	}
}

// neverStarts asks for a machine whose startup Job gets no container to run: somebody is told why before its time is over,
// the claim says it at its end, and the machine has no part in it.
func (h home) neverStarts(why ...string) {
	h.Ask(firstClaim, late)
	h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonStartupJobTimeout, 0)
	for _, reason := range []string{v2.EventScaleUpDeferred, v2.EventClaimFailed} {
		told := h.untilTold(reason)
		for _, words := range why {
			if !strings.Contains(told.Note, words) {
				h.T.Errorf("%s does not say %q: %q", reason, words, told.Note)
			}
		}
	}
	h.counts(machineroom.PowerOnRequested, 0)
	h.jobs("shutdown", 0)
}

// allowNoPods has a quota of none, and waits until the API server enforces it, which takes it a moment. It goes by the
// quota's status, which a controller would write that does not run here.
func (h home) allowNoPods() {
	h.T.Helper()
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "power", Namespace: h.Namespace},
		Spec:       corev1.ResourceQuotaSpec{Hard: none},
	}
	h.Create(quota)
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := h.Client.Status().Update(h.T.Context(), quota); err != nil {
		h.T.Fatal(err)
	}
	h.Eventually("the quota being enforced", func(ctx context.Context) string {
		err := h.Client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "try", Namespace: h.Namespace},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "try", Image: "none"}}},
		}, client.DryRunAll)
		if !apierrors.IsForbidden(err) {
			return fmt.Sprintf("a pod may still be made: %v", err)
		}
		return ""
	})
}

// drainsInVain takes a machine back whose pod its budget does not let go: it is named, and not waited for without end.
func (h home) drainsInVain() {
	h.boot(firstClaim, 1)
	app := map[string]string{"app": "db"}
	h.Create(
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "db-budget", Namespace: h.Namespace},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: app}, MinAvailable: new(intstr.FromInt32(1))},
		},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: h.Namespace, Labels: app},
			Spec: corev1.PodSpec{
				NodeName: h.Machine, TerminationGracePeriodSeconds: new(int64(0)),
				Containers: []corev1.Container{{Name: "db", Image: "none"}},
			},
		},
	)
	h.TakeBack(firstClaim)
	const held = "db (held back by PodDisruptionBudget db-budget)"
	if told := h.untilTold(v2.EventScaleDownDeferred); !strings.Contains(told.Note, held) {
		h.T.Errorf("the event does not name the budget: %q", told.Note)
	}
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
	if told := h.untilTold(v2.EventScaleDownRequested); !strings.Contains(told.Note, held) {
		h.T.Errorf("the shutdown does not say what it left behind: %q", told.Note)
	}
	h.untilNoKubeNode()
	h.counts(machineroom.PoweredOff, 1)
	h.Eventually("the pod going with its machine", func(ctx context.Context) string {
		err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: "db"}, &corev1.Pod{})
		if !apierrors.IsNotFound(err) {
			return fmt.Sprintf("it is there: %v", err)
		}
		return ""
	})
}
