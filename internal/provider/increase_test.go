package provider

import (
	"testing"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
)

func TestAShortfallSaysWhatIsStillAskedFor(t *testing.T) {
	made := []*v2.NodeClaim{claim("a", "g", v2.ClaimPending), claim("b", "g", v2.ClaimPending)}
	for name, test := range map[string]struct {
		made []*v2.NodeClaim
		left []string
		want string
	}{
		"nothing was had":       {want: "group g got 0 of 3 machines"},
		"all was given back":    {made: made, want: "group g got 2 of 3 machines and gave them back"},
		"one boots already":     {made: made, left: []string{"b-1"}, want: "group g got 2 of 3 machines, and could not take back every request for one; still asked for by b-1"},
		"nobody can look it up": {left: []string{"c-1"}, want: "group g got 0 of 3 machines, and could not take back every request for one; still asked for by c-1"},
	} {
		t.Run(name, func(t *testing.T) {
			taking := taking{view: pool.View{Name: "g"}, want: 3, made: test.made}
			if got := taking.shortfall(test.left); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
