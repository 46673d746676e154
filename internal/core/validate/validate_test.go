package validate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

func paths(faults field.ErrorList) []string {
	var paths []string
	for _, fault := range faults {
		paths = append(paths, fault.Field)
	}
	return paths
}

func goodSlot() *v2.Node {
	return &v2.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-01"},
		Spec: v2.NodeSpec{
			KubernetesNodeName: "worker-01.lan",
			StartupPodSpec:     v2.MinimalPodSpec{Image: "on"},
			ShutdownPodSpec:    v2.MinimalPodSpec{Image: "off"},
		},
	}
}

func TestASlotsFaultsAreNamedByField(t *testing.T) {
	tests := map[string]struct {
		spoil func(*v2.Node)
		want  []string
	}{
		"a good one":                {func(*v2.Node) {}, nil},
		"a name too long for Jobs":  {func(s *v2.Node) { s.Name = strings.Repeat("a", 45) }, []string{"metadata.name"}},
		"no node name":              {func(s *v2.Node) { s.Spec.KubernetesNodeName = "" }, []string{"spec.kubernetesNodeName"}},
		"a node name with capitals": {func(s *v2.Node) { s.Spec.KubernetesNodeName = "Worker" }, []string{"spec.kubernetesNodeName"}},
		"no images": {func(s *v2.Node) { s.Spec.StartupPodSpec.Image, s.Spec.ShutdownPodSpec.Image = "", "" },
			[]string{"spec.startupPodSpec", "spec.shutdownPodSpec"}},
		"a pod spec without an image": {func(s *v2.Node) { s.Spec.StartupPodSpec = v2.MinimalPodSpec{Args: []string{"on"}} }, []string{"spec.startupPodSpec.image"}},
		"a switch instead of pod specs": {func(s *v2.Node) {
			s.Spec.StartupPodSpec, s.Spec.ShutdownPodSpec, s.Spec.Power = v2.MinimalPodSpec{}, v2.MinimalPodSpec{}, &v2.PowerSwitch{Redfish: &v2.RedfishSwitch{}}
		}, nil},
		"a switch that goes up alone": {func(s *v2.Node) {
			s.Spec.StartupPodSpec, s.Spec.ShutdownPodSpec, s.Spec.Power = v2.MinimalPodSpec{}, v2.MinimalPodSpec{}, &v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{}}
		}, []string{"spec.shutdownPodSpec"}},
		"a switch that goes down alone": {func(s *v2.Node) {
			s.Spec.StartupPodSpec, s.Spec.ShutdownPodSpec, s.Spec.Power = v2.MinimalPodSpec{}, v2.MinimalPodSpec{}, &v2.PowerSwitch{SSH: &v2.SSHSwitch{}}
		}, []string{"spec.startupPodSpec"}},
		"a pattern that is none": {func(s *v2.Node) {
			s.Spec.Power = &v2.PowerSwitch{HTTP: &v2.HTTPSwitch{Status: &v2.HTTPStatus{Pattern: "("}}}
		}, []string{"spec.power.http.status.pattern"}},
		"a password of no Secret": {func(s *v2.Node) {
			s.Spec.Power = &v2.PowerSwitch{HTTP: &v2.HTTPSwitch{PowerOn: &v2.HTTPRequest{URL: "http://plug", Headers: map[string]string{"X-Key": "${token}"}}}}
		}, []string{"spec.power.http.credentialsSecretRef"}},
		"a negative capacity": {func(s *v2.Node) {
			s.Spec.NodeCapacity = corev1.ResourceList{"cpu": resource.MustParse("-1")}
		}, []string{"spec.nodeCapacity[cpu]"}},
		"a label that is none":   {func(s *v2.Node) { s.Spec.NodeLabels = map[string]string{"a b": "c"} }, []string{"spec.nodeLabels[a b]"}},
		"a taint without effect": {func(s *v2.Node) { s.Spec.NodeTaints = []corev1.Taint{{Key: "gpu"}} }, []string{"spec.nodeTaints[0].effect"}},
		"rates that are no rates": {func(s *v2.Node) { s.Spec.Pricing = &v2.Pricing{HourlyRate: "NaN", PodRate: "-1"} },
			[]string{"spec.pricing.hourlyRate", "spec.pricing.podRate"}},
		"volumes": {func(s *v2.Node) {
			s.Spec.StartupPodSpec.Volumes = []v2.Volume{
				{Name: "key", MountPath: "/key", SecretName: "a"},
				{Name: "key", MountPath: "key", SecretName: "a", ConfigMapName: "b"},
			}
		}, []string{"spec.startupPodSpec.volumes[1].name", "spec.startupPodSpec.volumes[1].mountPath", "spec.startupPodSpec.volumes[1]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slot := goodSlot()
			test.spoil(slot)
			if diff := cmp.Diff(test.want, paths(Slot(slot))); diff != "" {
				t.Errorf("faulty fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGroupsFaultsAreNamedByField(t *testing.T) {
	d := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	tests := map[string]struct {
		spec v2.GroupSpec
		want []string
	}{
		"an empty one":          {v2.GroupSpec{}, nil},
		"an engine to come":     {v2.GroupSpec{Engine: "Karpenter"}, []string{"spec.engine"}},
		"a negative floor":      {v2.GroupSpec{MinSize: -1}, []string{"spec.minSize"}},
		"a threshold over one":  {v2.GroupSpec{ScaleDownUtilizationThreshold: "1.5"}, []string{"spec.scaleDownUtilizationThreshold"}},
		"a threshold in words":  {v2.GroupSpec{ScaleDownGpuUtilizationThreshold: "half"}, []string{"spec.scaleDownGpuUtilizationThreshold"}},
		"times of zero":         {v2.GroupSpec{MaxNodeProvisionTime: d(0), ScaleDownUnneededTime: d(-1)}, []string{"spec.maxNodeProvisionTime", "spec.scaleDownUnneededTime"}},
		"a Job under a second":  {v2.GroupSpec{Timeouts: &v2.Timeouts{StartupJob: d(time.Millisecond), Drain: d(0)}}, []string{"spec.timeouts.startupJob", "spec.timeouts.drain"}},
		"times past a day":      {v2.GroupSpec{MaxNodeProvisionTime: d(25 * time.Hour), Timeouts: &v2.Timeouts{ShutdownJob: d(math.MaxInt64), Registration: d(policy.Longest)}}, []string{"spec.maxNodeProvisionTime", "spec.timeouts.shutdownJob"}},
		"a taint without a key": {v2.GroupSpec{NodeReadinessTaints: []v2.ReadinessTaint{{Effect: "Never"}}}, []string{"spec.nodeReadinessTaints[0].key", "spec.nodeReadinessTaints[0].key", "spec.nodeReadinessTaints[0].effect"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, paths(Group(&v2.Group{Spec: test.spec}))); diff != "" {
				t.Errorf("faulty fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAClaimsFaultsAreNamedByField(t *testing.T) {
	tests := map[string]struct {
		spoil func(*v2.NodeClaim)
		want  []string
	}{
		"the four-line claim of a person": {func(*v2.NodeClaim) {}, nil},
		"no slot":                         {func(c *v2.NodeClaim) { c.Spec.SlotRef.Name = "" }, []string{"spec.slotRef.name"}},
		"another namespace":               {func(c *v2.NodeClaim) { c.Spec.SlotRef.Namespace = "other" }, []string{"spec.slotRef.namespace"}},
		"no group, no call":               {func(c *v2.NodeClaim) { c.Spec.Request = v2.ClaimRequest{} }, []string{"spec.request.group", "spec.request.call"}},
		"labels that disagree": {func(c *v2.NodeClaim) {
			c.Labels = map[string]string{v2.LabelNode: "worker-02", v2.LabelGroup: "others"}
		}, []string{"metadata.labels[infra.homecluster.dev/node]", "metadata.labels[group]"}},
		"an essay on who asked": {func(c *v2.NodeClaim) { c.Spec.RequestedBy = strings.Repeat("x", 257) }, []string{"spec.requestedBy"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &v2.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "worker-01-manual", Namespace: "power"},
				Spec: v2.NodeClaimSpec{
					SlotRef: corev1.ObjectReference{Name: "worker-01"},
					Request: v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "workers"},
				},
			}
			test.spoil(claim)
			if diff := cmp.Diff(test.want, paths(Claim(claim))); diff != "" {
				t.Errorf("faulty fields (-want +got):\n%s", diff)
			}
		})
	}
}
