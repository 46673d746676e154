package pool

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func asJob(object metav1.Object) *batchv1.Job { return object.(*batchv1.Job) }

func job(slot string, conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: slot + "-up-1", Labels: map[string]string{v2.LabelNode: slot}},
		Status:     batchv1.JobStatus{Conditions: conditions},
	}
}

// jobNamed is an unfinished Job of that name.
func jobNamed(name, slot string) *batchv1.Job {
	j := job(slot)
	j.Name = name
	return j
}

func TestOfferable(t *testing.T) {
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}
	for name, test := range map[string]struct {
		objects []metav1.Object
		want    Obstacle
		until   time.Time
	}{
		"a slot that nothing concerns is offerable":            {objects: []metav1.Object{group(), slot("a")}},
		"a slot whose claims are over is offerable":            {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimCompleted)}},
		"a slot whose failed claim owes nothing is offerable":  {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimFailed)}},
		"a finished Job is no obstacle":                        {objects: []metav1.Object{group(), slot("a"), job("a", complete)}},
		"a kubelet that went silent is not on":                 {objects: []metav1.Object{group(), slot("a"), kubeNode("a", corev1.ConditionUnknown, "")}},
		"a group of people offers its slots to people":         {objects: []metav1.Object{group(func(g *v2.Group) { g.Spec.Engine = v2.EngineNone }), slot("a")}},
		"a hold that ended is no obstacle":                     {objects: []metav1.Object{group(), slot("a", heldUntil("2026-03-04T11:59:00Z"))}},
		"two failures are not yet a reason to cool off":        {objects: []metav1.Object{group(), slot("a", failuresOf(2, time.Minute))}},
		"a cool-off that is over ends":                         {objects: []metav1.Object{group(), slot("a", failuresOf(3, time.Hour))}},
		"no group, no offer":                                   {objects: []metav1.Object{slot("a")}, want: ObstacleGroupMissing},
		"a slot that is gone":                                  {objects: []metav1.Object{group(), claim("a", 1, v2.ClaimBooting)}, want: ObstacleSlotGone},
		"a slot that moved to another group":                   {objects: []metav1.Object{group(), slot("a", moved), claim("a", 1, v2.ClaimBooting)}, want: ObstacleOtherGroup},
		"a slot that is being deleted":                         {objects: []metav1.Object{group(), slot("a", func(s *v2.Node) { s.DeletionTimestamp = at(0) })}, want: ObstacleSlotDeleting},
		"an empty phase is a live claim":                       {objects: []metav1.Object{group(), slot("a"), claim("a", 1, "")}, want: ObstacleClaimed},
		"a live claim of another group owns the slot too":      {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimPending, of("h"))}, want: ObstacleClaimed},
		"a marked claim still owns the slot":                   {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady, marked, deleted)}, want: ObstacleClaimed},
		"a failed boot is still being reversed":                {objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), stillReversing)}, want: ObstacleOwesReversal},
		"an ended claim that is going away":                    {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimCompleted, deleted)}, want: ObstacleClaimDeleting},
		"an unclaimed shutdown whose first Job exists":         {objects: []metav1.Object{group(), slot("a", unclaimed)}, want: ObstacleUnclaimedShutdown},
		"an unfinished Job":                                    {objects: []metav1.Object{group(), slot("a"), job("a")}, want: ObstacleJobUnfinished},
		"a hold":                                               {objects: []metav1.Object{group(), slot("a", suspended)}, want: ObstacleHeld},
		"a hold that ends by itself says when":                 {objects: []metav1.Object{group(), slot("a", heldUntil("2026-03-04T12:05:00Z"))}, want: ObstacleHeld, until: noon.Add(5 * time.Minute)},
		"a hold without a readable end holds":                  {objects: []metav1.Object{group(), slot("a", heldUntil("soon"))}, want: ObstacleHeld},
		"three failures cool off for half an hour":             {objects: []metav1.Object{group(), slot("a", failuresOf(3, time.Minute))}, want: ObstacleCoolingOff, until: noon.Add(29 * time.Minute)},
		"a kubelet that reports Ready":                         {objects: []metav1.Object{group(), slot("a"), kubeNode("a", corev1.ConditionTrue, "")}, want: ObstacleMachineOn},
		"a kubelet that reports not Ready is on as well":       {objects: []metav1.Object{group(), slot("a"), kubeNode("a", corev1.ConditionFalse, "")}, want: ObstacleMachineOn},
		"a switch that says on":                                {objects: []metav1.Object{group(), slot("a", switchedOn)}, want: ObstacleMachineOn},
		"of two obstacles the claim is named, not the machine": {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), kubeNode("a", corev1.ConditionTrue, "")}, want: ObstacleClaimed},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(test.objects...)
			if len(v.Slots) != 1 {
				t.Fatalf("the view has %d slots", len(v.Slots))
			}
			refusal := Offerable(v, v.Slots[0])
			if refusal == nil {
				refusal = &Refusal{}
			}
			if refusal.Obstacle != test.want || !refusal.Until.Equal(test.until) {
				t.Errorf("got %+v, want %s until %s", refusal, test.want, test.until)
			}
			if test.want != "" && refusal.Detail() == "" {
				t.Error("the obstacle has no words for a person")
			}
		})
	}
}

func moved(s *v2.Node) { s.Labels[v2.LabelGroup] = "h" }

func heldUntil(when string) func(*v2.Node) {
	return func(s *v2.Node) {
		s.Annotations = map[string]string{v2.AnnotationHold: "me: new fan", v2.AnnotationHoldUntil: when}
	}
}

func unclaimed(s *v2.Node) {
	s.Status.Unclaimed = &v2.UnclaimedRecord{Since: *at(-time.Minute), Jobs: []v2.JobRecord{{Name: "a-x-down-1"}}}
}

func switchedOn(s *v2.Node) {
	s.Status.PowerState, s.Status.PowerSource = v2.PowerOn, v2.PowerSourceOutOfBand
}
