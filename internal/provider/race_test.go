package provider

import (
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
	tests := map[string]struct {
		other *v2.NodeClaim
		want  bool
	}{
		"to an older one":                                  {claim("z", 9, second.Add(-time.Second)), true},
		"not to a newer one, which sees ours":              {claim("a", 9, second.Add(time.Second)), false},
		"in one second to a person's, whatever its name":   {claim("z", 0, second), true},
		"in one second to a higher episode, from any name": {claim("z", 6, second), true},
		"in one second not to a lower episode":             {claim("a", 4, second), false},
		"not to itself":                                    {mine, false},
		"not to one that has ended":                        {ended, false},
		"not to one of another slot":                       {elsewhere, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := givesWay(mine, test.other); got != test.want {
				t.Errorf("gives way: %t, want %t", got, test.want)
			}
		})
	}
}
