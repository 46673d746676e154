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

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "  ")), &object.Object); err != nil {
		t.Fatal(err)
	}
	return &object
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
