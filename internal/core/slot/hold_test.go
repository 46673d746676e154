package slot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// TestAHoldThatIsOverLeavesNothingOnTheKubeNode however it ended, and takes away nothing of a person's.
func TestAHoldThatIsOverLeavesNothingOnTheKubeNode(t *testing.T) {
	hold := func(w *world) { w.slot.Annotations = map[string]string{v2.AnnotationHold: "new RAM"} }
	tests := map[string]struct {
		happen func(w *world)
		want   map[string]string
	}{
		"while it is held": {
			func(w *world) { hold(w); w.settle() },
			map[string]string{facts.AnnotationScaleDownDisabled: "true", v2.AnnotationHeld: "new RAM"},
		},
		"it was lifted": {
			func(w *world) { hold(w); w.settle(); w.slot.Annotations = nil; w.settle() }, map[string]string{},
		},
		"it was lifted, and the patch was refused": {
			func(w *world) {
				hold(w)
				w.settle()
				w.slot.Annotations = nil
				d := w.step()
				d.Actions = nil
				w.commit(d)
				w.settle()
			}, map[string]string{},
		},
		"a person keeps the machine on as well": {
			func(w *world) {
				w.kubeNode.Annotations = map[string]string{facts.AnnotationScaleDownDisabled: "true"}
				hold(w)
				w.settle()
				w.slot.Annotations = nil
				w.settle()
			}, map[string]string{facts.AnnotationScaleDownDisabled: "true"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serves(toldClaim)
			w.kubeNode.Annotations = map[string]string{}
			test.happen(w)
			if diff := cmp.Diff(test.want, w.kubeNode.Annotations); diff != "" {
				t.Errorf("annotations of the kubeNode (-want +got):\n%s", diff)
			}
		})
	}
}
