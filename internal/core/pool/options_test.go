package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestOptions(t *testing.T) {
	defaults := func(provision time.Duration) *Options {
		return &Options{
			ScaleDownUtilizationThreshold: 0.5, ScaleDownGpuUtilizationThreshold: 0.5,
			ScaleDownUnneededTime: new(10 * time.Minute), ScaleDownUnreadyTime: new(20 * time.Minute), MaxNodeProvisionTime: &provision,
		}
	}
	with := func(edit func(*Options)) *Options {
		o := defaults(15 * time.Minute)
		edit(o)
		return o
	}
	for name, test := range map[string]struct {
		group    *v2.Group
		defaults *Options
		want     *Options
		fault    FaultKind
	}{
		"nothing to override":                                      {group: group(), defaults: defaults(15 * time.Minute), fault: NotOffered},
		"an override that says what is default":                    {group: group(func(g *v2.Group) { g.Spec.ScaleDownUnneededTime = &metav1.Duration{Duration: 10 * time.Minute} }), defaults: defaults(15 * time.Minute), fault: NotOffered},
		"our deadline comes first":                                 {group: group(), defaults: defaults(10 * time.Minute), want: with(func(o *Options) { o.MaxNodeProvisionTime = new(14*time.Minute + 10*time.Second) })},
		"one field set, the rest as it came":                       {group: group(func(g *v2.Group) { g.Spec.ScaleDownUnneededTime = &metav1.Duration{Duration: time.Minute} }), defaults: defaults(15 * time.Minute), want: with(func(o *Options) { o.ScaleDownUnneededTime = new(time.Minute) })},
		"a threshold is a number":                                  {group: group(func(g *v2.Group) { g.Spec.ScaleDownUtilizationThreshold = "0.75" }), defaults: defaults(15 * time.Minute), want: with(func(o *Options) { o.ScaleDownUtilizationThreshold = 0.75 })},
		"a threshold that is none is left alone":                   {group: group(func(g *v2.Group) { g.Spec.ScaleDownUtilizationThreshold = "lots" }), defaults: defaults(15 * time.Minute), fault: NotOffered},
		"switches":                                                 {group: group(func(g *v2.Group) { g.Spec.IgnoreDaemonSetsUtilization = new(true) }), defaults: defaults(15 * time.Minute), want: with(func(o *Options) { o.IgnoreDaemonSetsUtilization = true })},
		"a client that sends no provision time is always answered": {group: group(), defaults: with(func(o *Options) { o.MaxNodeProvisionTime = nil }), want: with(func(o *Options) { o.MaxNodeProvisionTime = new(14*time.Minute + 10*time.Second) })},
		"no defaults":                                              {group: group(), fault: Malformed},
		"defaults without time":                                    {group: group(), defaults: &Options{}, fault: Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OptionsFor(view(test.group), test.defaults)
			check(t, err, test.fault, "")
			if test.want != nil {
				if diff := cmp.Diff(*test.want, got); diff != "" {
					t.Errorf("options (-want +got):\n%s", diff)
				}
			}
		})
	}
}
