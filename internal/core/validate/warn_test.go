package validate

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// quietSlot is a slot that gives no rise to warnings in quietPool.
func quietSlot(change ...func(*v2.Node)) *v2.Node {
	slot := goodSlot()
	slot.Labels = map[string]string{"group": "g"}
	slot.Spec.NodeCapacity = corev1.ResourceList{"cpu": resource.MustParse("4")}
	slot.Spec.StartupPodSpec = v2.MinimalPodSpec{Image: "ipmitool", Command: []string{"ipmitool"}, Args: []string{"-E", "power", "on"}}
	slot.Spec.ShutdownPodSpec = v2.MinimalPodSpec{Image: "ipmitool", Command: []string{"ipmitool"}, Args: []string{"-E", "power", "soft"}}
	for _, change := range change {
		change(slot)
	}
	return slot
}

// switched is a quiet slot with a switch instead of pod specs: a BMC, unless something else is made of it.
func switched(change ...func(*v2.PowerSwitch)) *v2.Node {
	return quietSlot(func(s *v2.Node) {
		s.Spec.StartupPodSpec, s.Spec.ShutdownPodSpec = v2.MinimalPodSpec{}, v2.MinimalPodSpec{}
		s.Spec.Power = &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "bmc.lan"}}
		for _, change := range change {
			change(s.Spec.Power)
		}
	})
}

func plugged(off v2.HTTPRequest) func(*v2.PowerSwitch) {
	return func(p *v2.PowerSwitch) {
		p.IPMI, p.HTTP = nil, &v2.HTTPSwitch{PowerOn: &v2.HTTPRequest{URL: "http://plug/on"}, PowerOff: &off, Status: &v2.HTTPStatus{}}
	}
}

func someGroup(change ...func(*v2.Group)) *v2.Group {
	group := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "g"}}
	for _, change := range change {
		change(group)
	}
	return group
}

func whole(group *v2.Group) { group.Spec.ZeroOrMaxNodeScaling = new(true) }

// compare wants one warning for each part of a sentence, in order.
func compare(t *testing.T, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("warned of %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("warned %q, want %q", got[i], want[i])
		}
		if len(got[i]) > 250 {
			t.Errorf("the API server cuts a warning of %d bytes: %s", len(got[i]), got[i])
		}
	}
}

func TestASlotIsWarnedAbout(t *testing.T) {
	quietPool := Pool{Group: someGroup(), Slots: []*v2.Node{quietSlot()}}
	second := quietSlot(func(s *v2.Node) { s.Name = "worker-02" })
	plane := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-01.lan", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}
	start := func(spec v2.MinimalPodSpec) *v2.Node {
		return quietSlot(func(s *v2.Node) { s.Spec.StartupPodSpec = spec })
	}
	stop := func(words ...string) *v2.Node {
		return quietSlot(func(s *v2.Node) { s.Spec.ShutdownPodSpec = v2.MinimalPodSpec{Image: "i", Command: words} })
	}
	bare := func(s *v2.Node) { s.Spec.NodeCapacity = nil }
	for name, test := range map[string]struct {
		slot     *v2.Node
		pool     Pool
		kubeNode *corev1.Node
		want     []string
	}{
		"a good one":                                     {quietSlot(), quietPool, &corev1.Node{}, nil},
		"no group label":                                 {quietSlot(func(s *v2.Node) { s.Labels = nil }), Pool{}, nil, []string{`no label "group"`}},
		"an unknown group":                               {quietSlot(), Pool{}, nil, []string{`there is no Group "g"`}},
		"no capacity in the whole pool":                  {quietSlot(bare), Pool{Group: someGroup(), Slots: []*v2.Node{quietSlot(bare)}}, nil, []string{"cannot grow the pool from zero"}},
		"no capacity here, but beside it":                {quietSlot(bare), Pool{Group: someGroup(), Slots: []*v2.Node{second}}, nil, nil},
		"a control-plane node":                           {quietSlot(), quietPool, plane, []string{"worker-01.lan is a control-plane node"}},
		"a pool that scales as a whole":                  {quietSlot(), Pool{Group: someGroup(whole), Slots: []*v2.Node{quietSlot(), second}}, nil, []string{"never scales such a pool down"}},
		"the only machine of one that scales as a whole": {quietSlot(), Pool{Group: someGroup(whole), Slots: []*v2.Node{quietSlot()}}, nil, nil},
		"a magic packet in a pod's network":              {start(v2.MinimalPodSpec{Image: "busybox", Command: []string{"/usr/bin/ether-wake"}, Args: []string{"-b", "52:54:00:12:34:56"}}), quietPool, nil, []string{"set hostNetwork: true"}},
		"a magic packet in a script":                     {start(v2.MinimalPodSpec{Image: "x", Command: []string{"sh", "-c", "sleep 1; wakeonlan 52:54:00:12:34:56"}}), quietPool, nil, []string{"set hostNetwork: true"}},
		"a magic packet from the host":                   {start(v2.MinimalPodSpec{Image: "busybox", HostNetwork: true, Command: []string{"ether-wake"}}), quietPool, nil, nil},
		"a magic packet to an address":                   {start(v2.MinimalPodSpec{Image: "x", Command: []string{"wakeonlan", "-i", "192.168.1.255", "52:54:00:12:34:56"}}), quietPool, nil, nil},
		"a magic packet to everybody":                    {start(v2.MinimalPodSpec{Image: "x", Command: []string{"wakeonlan", "-i", "255.255.255.255", "52:54:00:12:34:56"}}), quietPool, nil, []string{"set hostNetwork: true"}},
		"a shutdown that is none":                        {stop("/bin/true"), quietPool, nil, []string{"its command does nothing"}},
		"a shutdown that only talks":                     {stop("sh", "-c", "echo off"), quietPool, nil, []string{"its command does nothing"}},
		"a shutdown after some talk":                     {stop("sh", "-c", "echo off; ssh root@w poweroff"), quietPool, nil, nil},
		"a shutdown by the image itself":                 {stop(), quietPool, nil, nil},
		"a switch alone":                                 {switched(func(*v2.PowerSwitch) {}), quietPool, nil, nil},
		"a switch that both pod specs make useless": {quietSlot(func(s *v2.Node) { s.Spec.Power = &v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{}} }), quietPool, nil,
			[]string{"spec.power: both pod specs win"}},
		"a switch that is read beside pod specs": {quietSlot(func(s *v2.Node) { s.Spec.Power = &v2.PowerSwitch{IPMI: &v2.IPMISwitch{}} }), quietPool, nil, nil},
		"a grace that a Job does not have": {switched(func(p *v2.PowerSwitch) { p.ForceAfter = &metav1.Duration{Duration: 10 * time.Minute} }), quietPool, nil,
			[]string{"a shutdown Job has 5m0s, so the power is cut after 3m0s"}},
		"a grace that the group's Jobs have": {switched(func(p *v2.PowerSwitch) { p.ForceAfter = &metav1.Duration{Duration: 10 * time.Minute} }),
			Pool{Group: someGroup(func(g *v2.Group) {
				g.Spec.Timeouts = &v2.Timeouts{ShutdownJob: &metav1.Duration{Duration: 12 * time.Minute}}
			}), Slots: quietPool.Slots}, nil, nil},
		"a plug that is pulled":            {switched(plugged(v2.HTTPRequest{URL: "http://plug/off"})), quietPool, nil, []string{"powerOff cuts the power of a running system"}},
		"a plug that is pulled behind ssh": {switched(plugged(v2.HTTPRequest{URL: "http://plug/off"}), func(p *v2.PowerSwitch) { p.SSH = &v2.SSHSwitch{} }), quietPool, nil, nil},
		"a password in a plug's URL": {switched(plugged(v2.HTTPRequest{URL: "http://plug/cm?password=hunter2"}), func(p *v2.PowerSwitch) { p.SSH = &v2.SSHSwitch{} }), quietPool, nil,
			[]string{"spec.power.http.powerOff: something in it looks like a secret"}},
		"a token in a plug's header": {switched(plugged(v2.HTTPRequest{URL: "http://plug/", Headers: map[string]string{"Authorization": "Bearer abc"}}), func(p *v2.PowerSwitch) { p.SSH = &v2.SSHSwitch{} }), quietPool, nil,
			[]string{"spec.power.http.powerOff: something in it looks like a secret"}},
		"a token from a Secret":       {switched(plugged(v2.HTTPRequest{URL: "http://plug/cm?password=${password}", Headers: map[string]string{"Authorization": "Bearer ${token}"}}), func(p *v2.PowerSwitch) { p.SSH = &v2.SSHSwitch{} }), quietPool, nil, nil},
		"a shutdown that switches on": {quietSlot(func(s *v2.Node) { s.Spec.ShutdownPodSpec = s.Spec.StartupPodSpec }), quietPool, nil, []string{"the same as startupPodSpec"}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, test.want, SlotWarnings(test.slot, test.pool, test.kubeNode, policy.Default()))
		})
	}
}

func TestASecretInTheOpenIsWarnedAboutAndNotRepeated(t *testing.T) {
	args, env := "spec.startupPodSpec.args: ", "spec.startupPodSpec.env: "
	for name, test := range map[string]struct {
		command []string
		env     []corev1.EnvVar
		want    []string
	}{
		"ipmitool's flag":               {[]string{"ipmitool", "-H", "bmc", "-P", "hunter2"}, nil, []string{args + "what follows -P"}},
		"ipmitool in a script":          {[]string{"sh", "-c", "ipmitool -H bmc -P 'hunter2' power on"}, nil, []string{args + "what follows -P"}},
		"a variable for it":             {[]string{"ipmitool", "-H", "bmc", "-P", "$(PASSWORD)"}, nil, nil},
		"the same flag of another tool": {[]string{"nc", "-P", "hunter2"}, nil, nil},
		"a long flag":                   {[]string{"tool", "--password", "hunter2"}, nil, []string{args + "what follows --password"}},
		"a long flag with its value":    {[]string{"tool", "--password=hunter2"}, nil, []string{args + "one of its words"}},
		"a file for it":                 {[]string{"tool", "--password-file=/bmc/password", "--token", "/bmc/token"}, nil, nil},
		"JSON":                          {[]string{"curl", "-d", `{"user":"a","password":"hunter2"}`}, nil, []string{args + "one of its words"}},
		"a URL":                         {[]string{"curl", "https://admin:hunter2@bmc/redfish"}, nil, []string{args + "one of its words"}},
		"a URL with a variable":         {[]string{"curl", "https://admin:$(PASSWORD)@bmc/redfish"}, nil, nil},
		"curl's user":                   {[]string{"curl", "-u", "admin:hunter2", "https://bmc"}, nil, []string{args + "what follows -u"}},
		"a variable of that name": {nil, []corev1.EnvVar{{Name: "IPMI_PASSWORD", Value: "hunter2"}},
			[]string{env + "the value of IPMI_PASSWORD"}},
		"a variable from a Secret": {nil, []corev1.EnvVar{{Name: "IPMI_PASSWORD", ValueFrom: &corev1.EnvVarSource{}}, {Name: "TOKEN_FILE", Value: "/t"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := podWarnings("spec.startupPodSpec", v2.MinimalPodSpec{Image: "i", Command: test.command, Env: test.env})
			compare(t, test.want, got)
			if strings.Contains(strings.Join(got, " "), "hunter2") {
				t.Errorf("the secret is repeated: %q", got)
			}
		})
	}
}

func TestAGroupIsWarnedAbout(t *testing.T) {
	slow := func(seconds int64) func(*v2.Group) {
		return func(g *v2.Group) { g.Status.BootSecondsP95 = &seconds }
	}
	patient := func(g *v2.Group) { g.Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: 20 * time.Minute} }
	bare := quietSlot(func(s *v2.Node) { s.Spec.NodeCapacity = nil })
	for name, test := range map[string]struct {
		group *v2.Group
		slots []*v2.Node
		want  []string
	}{
		"a new one":                         {someGroup(), nil, nil},
		"boots within the budget":           {someGroup(slow(730)), nil, nil},
		"boots longer than the budget":      {someGroup(slow(731)), nil, []string{"one boot may take 12m10s, but 5 of 100 boots of this pool took longer than 12m11s"}},
		"boots within the group's own time": {someGroup(slow(731), patient), nil, nil},
		"a pool that offers nothing":        {someGroup(), []*v2.Node{bare}, []string{"cannot grow it from zero"}},
		"whole or nothing, of two":          {someGroup(whole), []*v2.Node{quietSlot(), bare}, []string{"never scales such a pool down"}},
		"whole or nothing, of one":          {someGroup(whole), []*v2.Node{quietSlot()}, nil},
	} {
		t.Run(name, func(t *testing.T) { compare(t, test.want, GroupWarnings(test.group, test.slots, policy.Default())) })
	}
}

func TestAClaimIsWarnedAbout(t *testing.T) {
	now := time.Unix(1000, 0)
	held := quietSlot(func(s *v2.Node) { s.Annotations = map[string]string{v2.AnnotationHold: "bob: new disk"} })
	for name, test := range map[string]struct {
		place Place
		group *v2.Group
		want  []string
	}{
		"a good one":             {Place{Slot: quietSlot()}, someGroup(), nil},
		"an unknown group":       {Place{Slot: quietSlot()}, nil, []string{`there is no Group "g"`}},
		"another group's slot":   {Place{Slot: quietSlot(func(s *v2.Node) { s.Labels["group"] = "x" })}, someGroup(), []string{`belongs to group "x"`}},
		"a held slot":            {Place{Slot: held}, someGroup(), []string{"held (bob: new disk)"}},
		"a machine going down":   {Place{Slot: quietSlot(), Claims: []*v2.NodeClaim{newClaim("former", committed, deleted)}}, someGroup(), []string{"being switched off for claim former"}},
		"no slot to speak about": {Place{}, someGroup(), nil},
	} {
		t.Run(name, func(t *testing.T) { compare(t, test.want, ClaimWarnings(newClaim("c"), test.place, test.group, now)) })
	}
}
