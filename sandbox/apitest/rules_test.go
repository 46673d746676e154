package apitest

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// The smallest objects that are right; every case changes one thing.
var smallest = map[string]string{
	"Group": `{apiVersion: infra.homecluster.dev/v2alpha1, kind: Group, metadata: {name: pool}, spec: {timeouts: {}}}`,
	"Node": `{apiVersion: infra.homecluster.dev/v2alpha1, kind: Node, metadata: {name: worker-01}, spec: {
		kubernetesNodeName: worker-01,
		startupPodSpec: {image: switch-on, volumes: [{name: key, mountPath: /key, secretName: key}]},
		shutdownPodSpec: {image: switch-off}}}`,
	"NodeClaim": `{apiVersion: infra.homecluster.dev/v2alpha1, kind: NodeClaim, metadata: {name: worker-01-manual}, spec: {
		slotRef: {name: worker-01}, request: {call: IncreaseSize, group: pool}}}`,
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "  ")), &object.Object); err != nil {
		t.Fatal(err)
	}
	return &object
}

// set puts the YAML value at the dotted path; an empty value takes away what is there.
func set(t *testing.T, object *unstructured.Unstructured, path, text string) {
	t.Helper()
	fields := strings.Split(path, ".")
	if text == "" {
		unstructured.RemoveNestedField(object.Object, fields...)
		return
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	if number, ok := value.(float64); ok {
		value = int64(number)
	}
	if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}

// verdict fails the test unless the error says what is wanted; an empty wish wants no error.
func verdict(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted; it should have been refused: %s", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused for another reason: %v\nwant: %s", err, want)
	}
}

func TestWhatOneObjectCanKnowIsRefusedAtCreation(t *testing.T) {
	c, namespace := server(t)
	tests := map[string]struct{ kind, path, value, want string }{
		"the smallest group":                     {"Group", "metadata.name", "pool", ""},
		"the smallest slot":                      {"Node", "metadata.name", "worker-01", ""},
		"the smallest claim":                     {"NodeClaim", "metadata.name", "worker-01-manual", ""},
		"a field that does not exist":            {"Group", "spec.maxSize", "3", `unknown field "spec.maxSize"`},
		"a group's name that is no label value":  {"Group", "metadata.name", strings.Repeat("g", 64), "at most 63 characters"},
		"a group's name that just is one":        {"Group", "metadata.name", strings.Repeat("g", 63), ""},
		"an engine that has not come yet":        {"Group", "spec.engine", "Karpenter", `supported values: "ClusterAutoscaler", "None"`},
		"a floor below zero":                     {"Group", "spec.minSize", "-1", "should be greater than or equal to 0"},
		"a duration of nothing":                  {"Group", "spec.maxNodeProvisionTime", "0s", "must be a positive duration"},
		"a duration in words":                    {"Group", "spec.maxNodeProvisionTime", "soon", "must be a positive duration"},
		"a duration backwards":                   {"Group", "spec.scaleDownUnneededTime", "-5m", "must be a positive duration"},
		"a duration in several parts":            {"Group", "spec.scaleDownUnneededTime", "1h30m", ""},
		"a Job shorter than Kubernetes counts":   {"Group", "spec.timeouts.startupJob", "500ms", "at least 1s"},
		"a threshold above one":                  {"Group", "spec.scaleDownUtilizationThreshold", `"1.5"`, "should match"},
		"a threshold in percent":                 {"Group", "spec.scaleDownUtilizationThreshold", `"50%"`, "should match"},
		"a threshold of one":                     {"Group", "spec.scaleDownUtilizationThreshold", `"1"`, ""},
		"a readiness taint without a key":        {"Group", "spec.nodeReadinessTaints", `[{effect: NoExecute}]`, "nodeReadinessTaints[0].key: Required"},
		"a readiness taint with any effect":      {"Group", "spec.nodeReadinessTaints", `[{key: example.com/agent}]`, ""},
		"a slot's name too long for its Jobs":    {"Node", "metadata.name", strings.Repeat("w", 45), "at most 44 characters"},
		"a slot's name that just fits":           {"Node", "metadata.name", strings.Repeat("w", 44), ""},
		"no kubeNode":                            {"Node", "spec.kubernetesNodeName", "", "kubernetesNodeName: Required"},
		"a kubeNode that no kubelet can be":      {"Node", "spec.kubernetesNodeName", "Worker_01", "should match"},
		"no image":                               {"Node", "spec.shutdownPodSpec.image", `""`, "should be at least 1 chars long"},
		"a volume of both":                       {"Node", "spec.startupPodSpec.volumes", `[{name: a, mountPath: /a, secretName: s, configMapName: c}]`, "exactly one of"},
		"a volume of neither":                    {"Node", "spec.startupPodSpec.volumes", `[{name: a, mountPath: /a}]`, "exactly one of"},
		"a volume of a ConfigMap":                {"Node", "spec.startupPodSpec.volumes", `[{name: a, mountPath: /a, configMapName: c}]`, ""},
		"a mount path that starts nowhere":       {"Node", "spec.startupPodSpec.volumes", `[{name: a, mountPath: a, secretName: s}]`, "should match"},
		"two volumes of one name":                {"Node", "spec.startupPodSpec.volumes", `[{name: a, mountPath: /a, secretName: s}, {name: a, mountPath: /b, secretName: s}]`, "Duplicate value"},
		"a taint with an effect of its own":      {"Node", "spec.nodeTaints", `[{key: a, effect: Never}]`, "every taint needs"},
		"a taint as Kubernetes has them":         {"Node", "spec.nodeTaints", `[{key: a, value: b, effect: NoSchedule}]`, ""},
		"a capacity that is no quantity":         {"Node", "spec.nodeCapacity", `{memory: much}`, "should match"},
		"a capacity as it is usually written":    {"Node", "spec.nodeCapacity", `{cpu: 2, memory: 3.2Gi, "nvidia.com/gpu": "1"}`, ""},
		"a price in words":                       {"Node", "spec.pricing", `{hourlyRate: cheap, podRate: "0"}`, "should match"},
		"a price without the other":              {"Node", "spec.pricing", `{hourlyRate: "0.05"}`, "podRate: Required"},
		"a claim's name too long for its Jobs":   {"NodeClaim", "metadata.name", strings.Repeat("c", 52), "at most 51 characters"},
		"a claim's name that just fits":          {"NodeClaim", "metadata.name", strings.Repeat("c", 51), ""},
		"a claim for no slot":                    {"NodeClaim", "spec.slotRef", `{kind: Node}`, "the slot's name is required"},
		"a claim for a slot without a name":      {"NodeClaim", "spec.slotRef", `{name: ""}`, "the slot's name is required"},
		"a call that does not exist":             {"NodeClaim", "spec.request.call", "Please", "Unsupported value"},
		"a request for no group":                 {"NodeClaim", "spec.request.group", `""`, "should be at least 1 chars long"},
		"a name longer than a column":            {"NodeClaim", "spec.requestedBy", strings.Repeat("a", 257), "may not be more than 256"},
		"a time to live below zero":              {"NodeClaim", "spec.ttlSecondsAfterFinished", "-1", "should be greater than or equal to 0"},
		"a claim that is collected at once":      {"NodeClaim", "spec.ttlSecondsAfterFinished", "0", ""},
		"a deadline that is no time":             {"NodeClaim", "spec.deadlineAt", "tomorrow", "date-time"},
		"a deadline before the request":          {"NodeClaim", "spec", `{slotRef: {name: w}, request: {call: Create, group: pool}, requestedAt: "2026-03-04T10:00:00Z", deadlineAt: "2026-03-04T09:00:00Z"}`, "must lie after requestedAt"},
		"a deadline after it, in another zone":   {"NodeClaim", "spec", `{slotRef: {name: w}, request: {call: Create, group: pool}, requestedAt: "2026-03-04T10:00:00Z", deadlineAt: "2026-03-04T11:30:00+01:00"}`, ""},
		"a claim of an engine that is to come":   {"NodeClaim", "spec.request.call", "Create", ""},
		"a claim with its number of the episode": {"NodeClaim", "spec.episode", "7", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			object := parse(t, smallest[tt.kind])
			object.SetNamespace(namespace)
			set(t, object, tt.path, tt.value)
			verdict(t, c.Create(t.Context(), object, client.DryRunAll), tt.want)
		})
	}
}

// manual is the smallest claim, typed.
func manual(namespace string) *v2.NodeClaim {
	claim := &v2.NodeClaim{Spec: v2.NodeClaimSpec{
		SlotRef: corev1.ObjectReference{Name: "worker-01"},
		Request: v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "pool"},
	}}
	claim.Namespace, claim.GenerateName = namespace, "claim-"
	return claim
}

func TestAClaimIsTheRecordOfOneRequest(t *testing.T) {
	c, namespace := server(t)
	requested := metav1.NewTime(time.Date(2026, 3, 4, 9, 38, 15, 0, time.UTC))
	deadline := metav1.NewTime(requested.Add(15 * time.Minute))
	claim := manual(namespace)
	claim.Spec.RequestedAt, claim.Spec.DeadlineAt, claim.Spec.RequestedBy = &requested, &deadline, "alice"
	claim.Spec.MaxNodeProvisionTime, claim.Spec.Episode = &metav1.Duration{Duration: 15 * time.Minute}, 3
	claim.Spec.Request.Delta = 2
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*v2.NodeClaimSpec)
		want   string
	}{
		"nothing at all":       {func(*v2.NodeClaimSpec) {}, ""},
		"the deadline cleared": {func(s *v2.NodeClaimSpec) { s.DeadlineAt = nil }, ""},
		"the deadline moved": {func(s *v2.NodeClaimSpec) {
			s.DeadlineAt = &metav1.Time{Time: deadline.Add(time.Hour)}
		}, "a deadline can be cleared, not set or moved"},
		"a DeleteNodes recorded": {func(s *v2.NodeClaimSpec) {
			s.Request.Call, s.Request.Nodes = v2.CallDeleteNodes, []string{"worker-01"}
		}, ""},
		"a DeleteNodes recorded without nodes": {func(s *v2.NodeClaimSpec) { s.Request.Call = v2.CallDeleteNodes }, ""},
		"another call recorded": {func(s *v2.NodeClaimSpec) { s.Request.Call = v2.CallCreate },
			"only a DeleteNodes can be recorded"},
		"nodes without a DeleteNodes": {func(s *v2.NodeClaimSpec) { s.Request.Nodes = []string{"worker-01"} },
			"only together with the record of a DeleteNodes"},
		"another slot":           {func(s *v2.NodeClaimSpec) { s.SlotRef.Name = "worker-02" }, "slotRef cannot change"},
		"another group":          {func(s *v2.NodeClaimSpec) { s.Request.Group = "other" }, "group cannot change"},
		"another delta":          {func(s *v2.NodeClaimSpec) { s.Request.Delta = 1 }, "delta cannot change"},
		"a delta taken away":     {func(s *v2.NodeClaimSpec) { s.Request.Delta = 0 }, "delta cannot change"},
		"another time":           {func(s *v2.NodeClaimSpec) { s.RequestedAt = &deadline; s.DeadlineAt = nil }, "requestedAt cannot change"},
		"a time taken away":      {func(s *v2.NodeClaimSpec) { s.RequestedAt = nil }, "requestedAt cannot change"},
		"another person":         {func(s *v2.NodeClaimSpec) { s.RequestedBy = "bob" }, "requestedBy cannot change"},
		"another budget":         {func(s *v2.NodeClaimSpec) { s.MaxNodeProvisionTime.Duration++ }, "maxNodeProvisionTime"},
		"another time to live":   {func(s *v2.NodeClaimSpec) { s.TTLSecondsAfterFinished = new(int32(1)) }, "ttlSecondsAfterFinished cannot change"},
		"another episode":        {func(s *v2.NodeClaimSpec) { s.Episode = 4 }, "an episode's number is given once"},
		"its episode taken away": {func(s *v2.NodeClaimSpec) { s.Episode = 0 }, "an episode's number is given once"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			changed := claim.DeepCopy()
			tt.change(&changed.Spec)
			verdict(t, c.Update(t.Context(), changed, client.DryRunAll), tt.want)
		})
	}

	claim.Spec.DeadlineAt = nil
	if err := c.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	claim.Spec.DeadlineAt = &deadline
	verdict(t, c.Update(t.Context(), claim), "a deadline can be cleared, not set or moved")
}

// A person writes a claim in a spelling of their own. The controller, which reads and writes it typed, must be able to
// clear the deadline and to end the claim all the same.
func TestATypedClientMaySpellAClaimItsOwnWay(t *testing.T) {
	c, namespace := server(t)
	ctx := t.Context()
	written := parse(t, `{apiVersion: infra.homecluster.dev/v2alpha1, kind: NodeClaim, metadata: {name: by-hand}, spec: {
		slotRef: {name: worker-01, namespace: "", uid: ""},
		request: {call: IncreaseSize, group: pool, delta: 0, nodes: []},
		requestedAt: "2026-03-04T10:38:15.25+01:00", deadlineAt: "2026-03-04T10:53:15.75+01:00",
		maxNodeProvisionTime: 15m, episode: 0}}`)
	written.SetNamespace(namespace)
	if err := c.Create(ctx, written); err != nil {
		t.Fatal(err)
	}
	var claim v2.NodeClaim
	if err := c.Get(ctx, client.ObjectKeyFromObject(written), &claim); err != nil {
		t.Fatal(err)
	}
	claim.Finalizers = []string{v2.FinalizerNodeClaim}
	if err := c.Update(ctx, &claim); err != nil {
		t.Errorf("adding a finalizer: %v", err)
	}
	claim.Spec.DeadlineAt = nil
	if err := c.Update(ctx, &claim); err != nil {
		t.Errorf("clearing the deadline: %v", err)
	}
	claim.Status.Phase = v2.ClaimCompleted
	if err := c.Status().Update(ctx, &claim); err != nil {
		t.Errorf("ending the claim: %v", err)
	}
}
