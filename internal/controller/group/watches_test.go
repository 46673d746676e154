package group

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestRequestsNameGroupsOfOurNamespace(t *testing.T) {
	w := watches{namespace: "home"}
	want := []reconcile.Request{
		{NamespacedName: types.NamespacedName{Namespace: "home", Name: "arm"}},
		{NamespacedName: types.NamespacedName{Namespace: "home", Name: "x86"}},
	}
	if diff := cmp.Diff(want, w.request("arm", "", "x86")); diff != "" {
		t.Error(diff)
	}
}

func TestAJobThatIsNotOursConcernsNoGroup(t *testing.T) {
	w := watches{namespace: "home"}
	for name, job := range map[string]*batchv1.Job{
		"no lifecycle Job":     {ObjectMeta: metav1.ObjectMeta{Namespace: "home"}},
		"of another namespace": {ObjectMeta: metav1.ObjectMeta{Namespace: "abroad", Labels: map[string]string{v2.LabelNode: "pi"}}},
	} {
		t.Run(name, func(t *testing.T) {
			// The watches have no cache: a look at it would panic.
			if got := w.job(context.Background(), job); len(got) != 0 {
				t.Errorf("concerns %v", got)
			}
		})
	}
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := Reconciler{Clock: clock.NewFakePassiveClock(now)}
	for name, test := range map[string]struct {
		at   time.Time
		want time.Duration
	}{
		"never by itself":  {time.Time{}, 0},
		"in a minute":      {now.Add(time.Minute), time.Minute},
		"it has passed":    {now.Add(-time.Hour), leastWait},
		"sooner than that": {now.Add(time.Millisecond), leastWait},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.until(test.at).RequeueAfter; got != test.want {
				t.Errorf("comes back after %s, want %s", got, test.want)
			}
		})
	}
}
