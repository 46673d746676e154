package pool

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestGroupOfKubeNode(t *testing.T) {
	for name, test := range map[string]struct {
		objects []metav1.Object
		want    string
	}{
		"ready and wanted":      {objects: []metav1.Object{slot("a"), claim("a", 1, v2.ClaimReady)}, want: "g"},
		"booting hides nothing": {objects: []metav1.Object{slot("a"), claim("a", 1, v2.ClaimBooting)}},
		"a held boot is what it is": {
			objects: []metav1.Object{slot("a", suspended), claim("a", 1, v2.ClaimBooting), kubeNode("a", corev1.ConditionTrue, "homelab://a")}, want: "g",
		},
		"a held boot, before its node has an id": {
			objects: []metav1.Object{slot("a", suspended), claim("a", 1, v2.ClaimBooting), kubeNode("a", corev1.ConditionTrue, "")},
		},
		"going down":                          {objects: []metav1.Object{slot("a"), claim("a", 1, v2.ClaimReady, marked)}},
		"unclaimed":                           {objects: []metav1.Object{slot("a")}},
		"ready, and a newer claim takes over": {objects: []metav1.Object{slot("a"), claim("a", 1, v2.ClaimReady), claim("a", 2, "")}, want: "g"},
		"the claim's group, not the label's":  {objects: []metav1.Object{slot("a", moved), claim("a", 1, v2.ClaimReady)}, want: "g"},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(test.objects...)
			if got := v.Slots[0].GroupOfKubeNode(noon); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	for name, test := range map[string]struct {
		ref                 NodeRef
		labels, annotations map[string]string
		want                NodeKind
	}{
		"a real node":                       {ref: NodeRef{"k3s://a", "a"}, want: RealNode},
		"a real node without an id":         {ref: NodeRef{"", "a"}, want: RealNode},
		"its id for a name":                 {ref: NodeRef{"homelab://a", "homelab://a"}, want: InventedNode},
		"with the reason annotated":         {ref: NodeRef{"homelab://a", "homelab://a"}, annotations: map[string]string{annotationFakeReason: ""}, want: InventedNode},
		"upcoming, with a real node's id":   {ref: NodeRef{"k3s://a", "template-node-for-g-1-upcoming-0"}, annotations: map[string]string{annotationUpcoming: "true"}, want: UpcomingNode},
		"a copy of a template, unannotated": {ref: NodeRef{"", "template-node-for-g-1"}, labels: map[string]string{labelTemplateNode: "true"}, want: UpcomingNode},
	} {
		t.Run(name, func(t *testing.T) {
			if got := KindOf(test.ref, test.labels, test.annotations); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
