package provider

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestOneOfTwoClaimsOfASlotGivesWay(t *testing.T) {
	second := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	claim := func(name string, episode int64, at time.Time) *v2.NodeClaim {
		return &v2.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(at)},
			Spec:       v2.NodeClaimSpec{SlotRef: corev1.ObjectReference{Name: "worker-01"}, Episode: episode},
		}
	}
	mine := claim("m", 5, second)
	ended, elsewhere := claim("a", 5, second.Add(-time.Minute)), claim("a", 5, second.Add(-time.Minute))
	ended.Status.Phase, elsewhere.Spec.SlotRef.Name = v2.ClaimFailed, "worker-02"
	booting := claim("z", 4, second.Add(time.Second))
	booting.Status.Phase = v2.ClaimBooting
	tests := map[string]struct {
		other *v2.NodeClaim
		want  bool
	}{
		"to an older one":                                  {claim("z", 9, second.Add(-time.Second)), true},
		"not to a newer one, which sees ours":              {claim("a", 9, second.Add(time.Second)), false},
		"in one second to a person's, whatever its name":   {claim("z", 0, second), true},
		"in one second to a higher episode, from any name": {claim("z", 6, second), true},
		"in one second not to a lower episode":             {claim("a", 4, second), false},
		"in one second and episode to a lower name":        {claim("a", 5, second), true},
		"in one second and episode not to a higher name":   {claim("z", 5, second), false},
		"to one whose boot has begun, whatever it is":      {booting, true},
		"not to itself":              {mine, false},
		"not to one that has ended":  {ended, false},
		"not to one of another slot": {elsewhere, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := givesWay(mine, test.other); got != test.want {
				t.Errorf("gives way: %t, want %t", got, test.want)
			}
		})
	}
}

// TestReplicasAgreeWhichClaimGivesWay goes through all pairs of claims that times, authors, episodes and names can make:
// whichever of their makers looks, the same one of the two stays, and of three there is one that stays.
func TestReplicasAgreeWhichClaimGivesWay(t *testing.T) {
	second := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	var all []*v2.NodeClaim
	for later := range 2 {
		for episode := range int64(3) {
			for _, name := range []string{"a", "b", "c"} {
				c := &v2.NodeClaim{Spec: v2.NodeClaimSpec{SlotRef: corev1.ObjectReference{Name: "worker-01"}, Episode: episode}}
				c.Name, c.CreationTimestamp = name, metav1.NewTime(second.Add(time.Duration(later)*time.Second))
				c.UID = types.UID(fmt.Sprint(name, episode, later))
				all = append(all, c)
			}
		}
	}
	stays := func(of ...*v2.NodeClaim) (count int) {
		for _, mine := range of {
			if !slices.ContainsFunc(of, func(other *v2.NodeClaim) bool { return givesWay(mine, other) }) {
				count++
			}
		}
		return count
	}
	same := func(a, b *v2.NodeClaim) bool { return a.Name == b.Name } // which two objects that exist never have
	for _, a := range all {
		for _, b := range all {
			if same(a, b) {
				continue
			}
			if got := stays(a, b); got != 1 {
				t.Errorf("of %s and %s %d stay", a.UID, b.UID, got)
			}
			for _, c := range all {
				if got := stays(a, b, c); !same(a, c) && !same(b, c) && got != 1 {
					t.Errorf("of %s, %s and %s %d stay", a.UID, b.UID, c.UID, got)
				}
			}
		}
	}
}
