package slot

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestClaimsJobsAndPodsNameTheirSlot(t *testing.T) {
	claim := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "c"}}
	claim.Spec.SlotRef.Name = "pi"
	in := func(namespace string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: "j", Labels: map[string]string{v2.LabelNode: "pi"}}
	}
	w := watches{namespace: "home"}
	for name, test := range map[string]struct {
		of     func(object client.Object) []string
		object client.Object
		want   string
	}{
		"a claim":                                     {w.names(t, true), claim, "pi"},
		"a claim that names nothing":                  {w.names(t, true), &v2.NodeClaim{}, ""},
		"a lifecycle Job":                             {w.names(t, false), &batchv1.Job{ObjectMeta: in("home")}, "pi"},
		"a Job of another namespace":                  {w.names(t, false), &batchv1.Job{ObjectMeta: in("elsewhere")}, ""},
		"somebody else's Job":                         {w.names(t, false), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "home"}}, ""},
		"a lifecycle Job's pod that is not bound yet": {w.pods(t), &corev1.Pod{ObjectMeta: in("home")}, "pi"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.of(test.object)
			if test.want == "" && len(got) != 0 || test.want != "" && (len(got) != 1 || got[0] != test.want) {
				t.Errorf("concerns %v, want %q", got, test.want)
			}
		})
	}
}

func (w watches) names(t *testing.T, claims bool) func(client.Object) []string {
	return func(object client.Object) (names []string) {
		of := w.labelled
		if claims {
			of = w.claim
		}
		for _, request := range of(t.Context(), object) {
			names = append(names, request.Name)
		}
		return names
	}
}

func (w watches) pods(t *testing.T) func(client.Object) []string {
	return func(object client.Object) (names []string) {
		for _, request := range w.pod(t.Context(), object) {
			names = append(names, request.Name)
		}
		return names
	}
}

func TestOnlyTelltaleChangesOfAKubeNodeConcernEverySlot(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a heartbeat":          {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Unix(9, 0)) }, false},
		"an address":           {func(n *corev1.Node) { n.Status.Addresses = []corev1.NodeAddress{{Address: "10.0.0.1"}} }, false},
		"it falls silent":      {ready(corev1.ConditionUnknown), true},
		"a cordon":             {cordoned, true},
		"a taint":              {tainted("a", "b", corev1.TaintEffectNoSchedule), true},
		"a label":              {label("arch", "x86"), true},
		"it begins to go":      {func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} }, true},
		"the time of a taint":  {func(n *corev1.Node) { n.Spec.Taints[0].TimeAdded = &metav1.Time{Time: time.Unix(9, 0)} }, false},
		"the value of a taint": {func(n *corev1.Node) { n.Spec.Taints[0].Value = "2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := aKubeNode("a", tainted("t", "1", corev1.TaintEffectNoSchedule))
			after := before.DeepCopy()
			test.change(after)
			if got := neighbourChanges().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("concerns every slot: %t, want %t", got, test.want)
			}
		})
	}
}

func TestOnlyTelltaleChangesOfAPodCount(t *testing.T) {
	lifecycle := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v2.LabelNode: "pi"}}}
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		change func(*corev1.Pod)
		want   bool
	}{
		"a container of a lifecycle Job starts": {lifecycle, func(p *corev1.Pod) { p.Status.Message = "started" }, true},
		"a container of any pod starts":         {&corev1.Pod{}, func(p *corev1.Pod) { p.Status.Message = "started" }, false},
		"a pod is bound":                        {&corev1.Pod{}, func(p *corev1.Pod) { p.Spec.NodeName = "a" }, true},
		"a pod ends":                            {&corev1.Pod{}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"a pod begins to go":                    {&corev1.Pod{}, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := test.pod.DeepCopy()
			test.change(after)
			if got := podChanges().Update(event.UpdateEvent{ObjectOld: test.pod, ObjectNew: after}); got != test.want {
				t.Errorf("lets it through: %t, want %t", got, test.want)
			}
		})
	}
}

func TestEarliest(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	for name, test := range map[string]struct{ a, b, want time.Time }{
		"none of two":       {},
		"only the first":    {early, time.Time{}, early},
		"only the second":   {time.Time{}, early, early},
		"the first sooner":  {early, late, early},
		"the second sooner": {late, early, early},
	} {
		t.Run(name, func(t *testing.T) {
			if got := earliest(test.a, test.b); !got.Equal(test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
