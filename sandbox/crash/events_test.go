package crash_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// options are a home's.
type options = house.Options

// nothingIsAnnouncedThatWasRefused has the API server refuse every move to booting, until it does not: only then may
// anything be told of it, and once.
func nothingIsAnnouncedThatWasRefused(t *testing.T, house *house.House) {
	h := home{house.Home(t, options{})}
	h.Ask(claimName, window)
	policy, binding := h.noBoots()
	h.untilRefused()

	h.Manage(h.Proxy.Config())
	h.Eventually("trying and trying again", func(context.Context) string {
		refused := 0
		for _, write := range h.Proxy.Writes() {
			if write.Resource == "nodeclaims/status" && write.Status == 422 && !write.Applied {
				refused++
			}
		}
		if refused < 4 {
			return fmt.Sprintf("%d refused writes", refused)
		}
		return ""
	})
	h.Stop() // what is published is published now
	for _, told := range h.Told() {
		t.Errorf("%s was told of %s %s, which moved nowhere: %s", told.Reason, told.Kind, told.Name, told.Note)
	}
	if n := len(h.Jobs("startup")); n != 0 {
		t.Errorf("%d startup Jobs were made for a claim that was not saved as booting", n)
	}
	if n := h.Count(machineroom.PowerOnRequested); n != 0 {
		t.Errorf("the button was pressed %d times", n)
	}

	for _, object := range []client.Object{binding, policy} {
		if err := h.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	h.Manage(h.Proxy.Config())
	h.Eventually("booting after all", h.isReady)
	h.Stop()
	h.checkOneBoot()
	h.CheckToldOnce()
	told := map[string]bool{}
	for _, event := range h.Told() {
		told[event.Reason] = true
	}
	for _, reason := range []string{v2.EventClaimCreated, v2.EventClaimBooting, v2.EventClaimReady, v2.EventScaleUpRequested, v2.EventScaleUpCompleted} {
		if !told[reason] {
			t.Errorf("%s was not told once the move was saved", reason)
		}
	}
}

// noBoots has the API server refuse to save a claim of this home as booting.
func (h home) noBoots() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	h.T.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: h.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": h.Namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{v2.GroupVersion.Group}, APIVersions: []string{v2.GroupVersion.Version}, Resources: []string{"nodeclaims/status"},
					},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.status.phase) || object.status.phase != 'booting'", Message: "refused by the test",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: h.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	h.Create(policy, binding)
	return policy, binding
}

// untilRefused waits until the API server enforces noBoots, which takes it a moment.
func (h home) untilRefused() {
	h.T.Helper()
	h.Eventually("the API server enforcing the policy", func(ctx context.Context) string {
		claim, err := h.Claim(ctx, claimName)
		if err != nil {
			return err.Error()
		}
		claim.Status.Phase = v2.ClaimBooting
		if err := h.Client.Status().Update(ctx, claim, client.DryRunAll); err == nil {
			return "it still lets a claim boot"
		}
		return ""
	})
}

// day is how long the machine below fails. Its clock jumps a minute after each Job, and over each pause.
const day = 24 * time.Hour

// failsAllDay has a machine ignore every shutdown for a day: rounds of attempts and pauses, one after the other. What is
// told of it is little, whether as objects or as repeats of one.
func failsAllDay(t *testing.T, house *house.House) {
	h := home{house.Home(t, options{Temperament: machineroom.Temperament{IgnoreSoftOff: machineroom.Always}})}
	fake := clock.NewFakeClock(time.Now())
	h.Clock, h.Policy.ShutdownPause = fake, 4*time.Hour
	h.Manage(h.Proxy.Config())
	h.boot()
	h.TakeBack(claimName)
	jobs, limit := int32(0), h.Policy.MaxShutdownAttempts
	for began := fake.Now(); fake.Since(began) < day; {
		claim := h.untilShutdown(jobs + 1)
		jobs++
		fake.Step(time.Minute)
		if claim.Status.ShutdownAttempts < limit {
			h.poke(fake.Now())
			continue
		}
		h.poke(fake.Now())
		h.Eventually("pausing", h.pauses)
		fake.SetTime(claim.Status.LastShutdownAttemptAt.Add(h.Policy.ShutdownPause + time.Second))
		h.poke(fake.Now())
	}
	h.Stop()
	if want := int32(day/h.Policy.ShutdownPause) * limit; jobs < want {
		t.Errorf("%d shutdown Jobs failed in a day, want at least %d", jobs, want)
	}
	told, times := h.Told(), 0
	for _, event := range told {
		times += event.Times
	}
	t.Logf("%d shutdown Jobs failed in a day; %d events tell of it, %d times in all", jobs, len(told), times)
	if times >= 20 {
		t.Errorf("%d events, told %d times in all, want fewer than 20: %+v", len(told), times, told)
	}
	if !h.IsOn() {
		t.Error("the machine went off")
	}
}

// untilShutdown waits until the n-th shutdown Job's end is on record.
func (h home) untilShutdown(n int32) *v2.NodeClaim {
	h.T.Helper()
	var claim *v2.NodeClaim
	h.Eventually(fmt.Sprintf("shutdown Job %d ending", n), func(ctx context.Context) string {
		var err error
		claim, err = h.Claim(ctx, claimName)
		switch {
		case err != nil:
			return err.Error()
		case claim == nil:
			return "the claim is gone"
		}
		if last := claim.Status.Jobs[len(claim.Status.Jobs)-1]; last.Operation != v2.OperationShutdown || last.N != n || last.Outcome == "" {
			return fmt.Sprintf("the newest Job is %+v", last)
		}
		return ""
	})
	return claim
}

// pauses says what is missing until the claim's reversal has paused.
func (h home) pauses(ctx context.Context) string {
	claim, err := h.Claim(ctx, claimName)
	switch {
	case err != nil:
		return err.Error()
	case claim == nil:
		return "the claim is gone"
	}
	condition := meta.FindStatusCondition(claim.Status.Conditions, v2.ConditionMachineObservedOff)
	if condition == nil || condition.Reason != "ShutdownPaused" {
		return fmt.Sprintf("the conditions are %+v", claim.Status.Conditions)
	}
	return ""
}

// poke has the manager look at its clock again: what it waits for is a time of the fake one.
func (h home) poke(now time.Time) {
	h.T.Helper()
	slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Machine}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.org/now":%q}}}`, now.Format(time.RFC3339Nano))
	if err := h.Client.Patch(h.T.Context(), slot, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		h.T.Fatal(err)
	}
}
