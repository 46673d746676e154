package describe_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/describe"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

var rewrite = flag.Bool("rewrite", false, "write what kubectl describe prints into the documentation")

func TestMain(m *testing.M) { house.Main(m, 1) }

// week is the time to live of the claim that is read the day after.
const week = 7 * 24 * time.Hour

// TestTheDayAfter lets two boots fail on a stepped clock. A day later `kubectl describe` has to say who asked for the
// machine, when, which attempt it was and why it ended, though the events are gone.
func TestTheDayAfter(t *testing.T) {
	began := time.Date(2025, 3, 4, 9, 0, 0, 0, time.UTC)
	h := home{house.New(t).Home(t, house.Options{
		Temperament: machineroom.Temperament{StartupSwitch: machineroom.SwitchErrors},
	}), clock.NewFakeClock(began)}
	h.Clock = h.clock
	h.Manage(h.ControlPlane.Config())

	h.failsToBoot("3f21aa", time.Hour)
	h.setClock(began.Add(time.Hour))
	h.failsToBoot("8c0d17", week)
	h.setClock(began.Add(24 * time.Hour))
	h.Eventually("the first claim being collected", func(ctx context.Context) string {
		if claim, err := h.Claim(ctx, h.name("3f21aa")); claim != nil || err != nil {
			return fmt.Sprintf("it is there: %v", err)
		}
		return ""
	})
	h.Stop()
	h.forget()

	page := readPage(t)
	page.holds(h, "NodeClaim", h.name("8c0d17"))
	page.holds(h, "Node", h.Machine)
	page.done()
}

// home is a house.Home whose managers read a clock that is stepped.
type home struct {
	*house.Home
	clock *clock.FakeClock
}

func (h home) name(suffix string) string { return h.Machine + "-" + suffix }

// failsToBoot asks for the machine as cluster-autoscaler's provider does, and waits until the failed boot is reversed.
func (h home) failsToBoot(suffix string, ttl time.Duration) {
	h.T.Helper()
	asked := h.clock.Now()
	deadline := asked.Add(h.Policy.Budget())
	h.Create(&v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: h.name(suffix), Namespace: h.Namespace, Labels: map[string]string{v2.LabelGroup: house.Pool, v2.LabelNode: h.Machine},
		},
		Spec: v2.NodeClaimSpec{
			SlotRef:                 corev1.ObjectReference{Name: h.Machine},
			Request:                 v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: house.Pool, Delta: 1},
			RequestedAt:             new(metav1.NewTime(asked)),
			RequestedBy:             "cluster-autoscaler",
			DeadlineAt:              new(metav1.NewTime(deadline)),
			TTLSecondsAfterFinished: new(int32(ttl / time.Second)),
		},
	})
	h.until(suffix, "failing", func(c *v2.NodeClaim) bool { return c.Status.Phase == v2.ClaimFailed })
	h.setClock(deadline)
	h.until(suffix, "seeing the end of its shutdown Job", func(c *v2.NodeClaim) bool {
		last := c.Status.Jobs[len(c.Status.Jobs)-1]
		return last.Operation == v2.OperationShutdown && last.Outcome == v2.JobSucceeded
	})
	h.setClock(deadline.Add(house.Settle))
	h.until(suffix, "being let go", func(c *v2.NodeClaim) bool { return len(c.Finalizers) == 0 })
	h.Eventually("the slot resting", func(ctx context.Context) string {
		slot, err := h.Slot(ctx)
		if err != nil || slot.Status.Phase != v2.SlotOff || len(slot.Finalizers) > 0 {
			return fmt.Sprintf("the slot is %+v, %v", slot, err)
		}
		return ""
	})
}

func (h home) until(suffix, what string, is func(*v2.NodeClaim) bool) {
	h.T.Helper()
	h.Eventually(what, func(ctx context.Context) string {
		claim, err := h.Claim(ctx, h.name(suffix))
		if err != nil || claim == nil || !is(claim) {
			return fmt.Sprintf("the claim is %+v, %v", claim, err)
		}
		return ""
	})
}

// annotation makes the managers look at their clock.
const annotation = "example.org/now"

func (h home) setClock(now time.Time) {
	h.T.Helper()
	h.clock.SetTime(now)
	h.annotate(fmt.Sprintf("%q", now.Format(time.RFC3339)))
}

func (h home) annotate(value string) {
	h.T.Helper()
	slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Machine}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, annotation, value))
	if err := h.Client.Patch(h.T.Context(), slot, patch); err != nil {
		h.T.Fatal(err)
	}
}

// forget takes away what is gone after a day, and what only the test needed.
func (h home) forget() {
	h.T.Helper()
	h.annotate("null")
	if err := h.Client.DeleteAllOf(h.T.Context(), &corev1.Event{}, client.InNamespace(h.Namespace)); err != nil {
		h.T.Fatal(err)
	}
}

// describe is what kubectl prints.
func (h home) describe(kind, name string) string {
	h.T.Helper()
	mapping, err := h.Client.RESTMapper().RESTMapping(v2.GroupVersion.WithKind(kind).GroupKind(), v2.GroupVersion.Version)
	if err != nil {
		h.T.Fatal(err)
	}
	mapping = &meta.RESTMapping{Resource: mapping.Resource, GroupVersionKind: mapping.GroupVersionKind, Scope: mapping.Scope}
	describer, ok := describe.GenericDescriberFor(mapping, h.ControlPlane.Config())
	if !ok {
		h.T.Fatalf("kubectl cannot describe a %s", kind)
	}
	text, err := describer.Describe(h.Namespace, name, describe.DescriberSettings{ShowEvents: true})
	if err != nil {
		h.T.Fatal(err)
	}
	return text
}
