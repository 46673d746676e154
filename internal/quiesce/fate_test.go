package quiesce

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func slot(changes ...func(*v2.Node)) *v2.Node {
	s := &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: v2.NodeSpec{KubernetesNodeName: "m.lan"}}
	for _, change := range changes {
		change(s)
	}
	return s
}

func claim(phase v2.ClaimPhase, changes ...func(*v2.NodeClaim)) *v2.NodeClaim {
	c := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Finalizers: []string{v2.FinalizerNodeClaim}}}
	c.Spec.SlotRef.Name, c.Status.Phase = "m", phase
	for _, change := range changes {
		change(c)
	}
	return c
}

func deleted(c *v2.NodeClaim) { c.DeletionTimestamp = &metav1.Time{} }

func withJob(c *v2.NodeClaim) {
	c.Status.Jobs = []v2.JobRecord{{Operation: v2.OperationStartup, N: 1}, {Operation: v2.OperationShutdown, N: 1}}
}

func ready(status corev1.ConditionStatus, cordoned bool) *corev1.Node {
	kubeNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m.lan"}}
	kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if cordoned {
		kubeNode.Annotations = map[string]string{v2.AnnotationCordoned: "us"}
	}
	return kubeNode
}

func TestTheFateOfAMachineIsTold(t *testing.T) {
	const (
		stays  = "it is on, and stays on with its pods"
		silent = "it is off, or silent, and stays so"
		coming = "it is being switched on: it comes up, and stays on"
		left   = "it was to be switched off, and nothing has been sent to it: it is left as it is, and takes pods again"
		going  = "it is being switched off, and its Job runs to its end by itself; if it stays on, kubectl uncordon m.lan"
	)
	for name, test := range map[string]struct {
		pool Pool
		want Fate
	}{
		"in use":           {Pool{Claims: []*v2.NodeClaim{claim(v2.ClaimReady)}, KubeNodes: []*corev1.Node{ready("True", false)}}, Fate{Says: stays}},
		"on, and nobody's": {Pool{KubeNodes: []*corev1.Node{ready("True", false)}}, Fate{Says: stays}},
		"off":              {Pool{}, Fate{Says: silent}},
		"silent":           {Pool{KubeNodes: []*corev1.Node{ready("Unknown", false)}}, Fate{Says: silent}},
		"booting":          {Pool{Claims: []*v2.NodeClaim{claim(v2.ClaimBooting)}}, Fate{Says: coming}},
		"being drained": {Pool{Claims: []*v2.NodeClaim{claim(v2.ClaimReady, deleted)}, KubeNodes: []*corev1.Node{ready("True", true)}},
			Fate{Says: left, Underway: true, Uncordon: true}},
		"to be drained, cordoned by a person": {Pool{Claims: []*v2.NodeClaim{claim(v2.ClaimReady, deleted)}, KubeNodes: []*corev1.Node{ready("True", false)}},
			Fate{Says: left, Underway: true}},
		"being switched off": {Pool{Claims: []*v2.NodeClaim{claim(v2.ClaimReady, deleted, withJob)}, KubeNodes: []*corev1.Node{ready("True", true)}},
			Fate{Says: going, Underway: true}},
		"being drained as nobody's": {Pool{Slots: []*v2.Node{slot(func(s *v2.Node) {
			s.Status.Unclaimed = &v2.UnclaimedRecord{}
		})}, KubeNodes: []*corev1.Node{ready("True", true)}}, Fate{Says: left, Underway: true, Uncordon: true}},
		"nobody's, and not yet drained": {Pool{Slots: []*v2.Node{slot(func(s *v2.Node) {
			s.Status.Unclaimed = &v2.UnclaimedRecord{}
		})}, KubeNodes: []*corev1.Node{ready("True", false)}}, Fate{Says: stays}},
		"being switched off as nobody's": {Pool{Slots: []*v2.Node{slot(func(s *v2.Node) {
			s.Status.Unclaimed = &v2.UnclaimedRecord{Jobs: []v2.JobRecord{{Operation: v2.OperationShutdown}}}
		})}, KubeNodes: []*corev1.Node{ready("True", true)}}, Fate{Says: going, Underway: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.pool.Slots == nil {
				test.pool.Slots = []*v2.Node{slot()}
			}
			test.want.Slot = "m"
			if diff := cmp.Diff([]Fate{test.want}, Judge(test.pool)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMachinesOfSlotsThatAreGoneAreToldAsWell(t *testing.T) {
	want := []Fate{{Slot: "m", Says: "there is no such slot any more: its machine stays as it is"}}
	if diff := cmp.Diff(want, Judge(Pool{Claims: []*v2.NodeClaim{claim(v2.ClaimReady)}})); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyWhatWasReadTooEarlyIsTriedAgain(t *testing.T) {
	resource := schema.GroupResource{Resource: "nodeclaims"}
	conflict := fmt.Errorf("dropping: %w", apierrors.NewConflict(resource, "c", errors.New("changed")))
	denied := apierrors.NewForbidden(resource, "c", errors.New("no"))
	for want, errs := range map[bool][]error{true: {conflict, apierrors.NewNotFound(resource, "c")}, false: {conflict, denied}} {
		if got := outdated(errors.Join(errs...)); got != want {
			t.Errorf("%v is outdated: %v", errs, got)
		}
	}
}
