package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestIndexes(t *testing.T) {
	claim := &v2.NodeClaim{}
	claim.Spec.SlotRef.Name, claim.Spec.Request.Group = "pi", "arm"
	slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: "pi", Labels: map[string]string{v2.LabelGroup: "arm"}}}
	slot.Spec.KubernetesNodeName = "raspi"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v2.LabelNode: "pi"}}}
	pod := func(kind string, controller bool) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, UID: "u1", Controller: &controller}}},
			Spec:       corev1.PodSpec{NodeName: "raspi"},
		}
	}

	for name, test := range map[string]struct {
		index  string
		object client.Object
		want   []string
	}{
		"a claim is found by its slot":                        {IndexClaimsBySlot, claim, []string{"pi"}},
		"a claim is found by the group that asked":            {IndexClaimsByGroup, claim, []string{"arm"}},
		"a slot is found by its label":                        {IndexSlotsByGroup, slot, []string{"arm"}},
		"a slot without the label is in no group":             {IndexSlotsByGroup, &v2.Node{}, nil},
		"a slot is found by its kubelet's name":               {IndexSlotsByKubeNodeName, slot, []string{"raspi"}},
		"a Job is found by its slot":                          {IndexJobsBySlot, job, []string{"pi"}},
		"a pod is found by its kubeNode":                      {IndexPodsByKubeNode, pod("Job", true), []string{"raspi"}},
		"a pod is found by the Job that controls it":          {IndexPodsByJob, pod("Job", true), []string{"u1"}},
		"a Job that only owns a pod does not find it":         {IndexPodsByJob, pod("Job", false), nil},
		"a pod of a ReplicaSet is found by no Job":            {IndexPodsByJob, pod("ReplicaSet", true), nil},
		"a pod that is not scheduled is found by no kubeNode": {IndexPodsByKubeNode, &corev1.Pod{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, index := range indexes() {
				if index.name == test.index {
					if diff := cmp.Diff(test.want, index.values(test.object)); diff != "" {
						t.Error(diff)
					}
					return
				}
			}
			t.Fatalf("no index %s", test.index)
		})
	}
}
