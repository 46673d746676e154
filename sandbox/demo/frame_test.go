package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/liveview"
	"homecluster.dev/autoscaler/sandbox/machineroom"
	"homecluster.dev/autoscaler/sandbox/standin"
)

func event(name, reason, controller string, regarding corev1.ObjectReference, count int32) *eventsv1.Event {
	e := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, Reason: reason, ReportingController: controller,
		Regarding: regarding, Note: "a note", Type: corev1.EventTypeNormal}
	if count > 1 {
		e.Series = &eventsv1.EventSeries{Count: count}
	}
	return e
}

func TestTheFrameShowsTheWorld(t *testing.T) {
	ours := corev1.ObjectReference{APIVersion: v2.GroupVersion.String(), Kind: "NodeClaim", Name: "worker-1-0a1b2c"}
	pod := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "hello-1"}
	s := newTeller("worker-1")
	s.up()
	s.tell(
		event("a", v2.EventClaimReady, "homelab-autoscaler", ours, 1),
		event("a", v2.EventClaimReady, "homelab-autoscaler", ours, 1), // the same again, as a watch may tell it
		event("a", v2.EventClaimReady, "homelab-autoscaler", ours, 2),
		event("b", "StandInScaleUp", standin.UserAgent, pod, 1),
		event("c", "Scheduled", "default-scheduler", pod, 1), // not part of the story
	)
	s.step(func() {
		s.world.Power(s.at, machineroom.Event{Machine: "always-on", Kind: machineroom.Ready, On: true, Source: "itself"})
	})
	frame := s.world.Frame("title", time.Minute, s.checklist)
	frame.Steps = nil
	got := strings.Join(liveview.Render(frame, liveview.Style{Width: 90, Height: 40}), "\n")
	want := strings.Join([]string{
		"title" + strings.Repeat(" ", 78) + "1m00.0s",
		"SLOTS",
		"  SLOT      GROUP  PHASE  POWER  SWITCH  MACHINE  KUBENODE",
		"  worker-1         ready         on      on       Ready",
		"CLAIMS",
		"  CLAIM            GROUP    PHASE  CALL          REASON",
		"  worker-1-0a1b2c  workers  ready  IncreaseSize",
		"PODS",
		"  POD      PHASE    KUBENODE",
		"  hello-1  Running  worker-1",
		"EVENTS",
		"     15.0s  ClaimReady nodeclaim/worker-1-0a1b2c: a note",
		"     17.0s  ClaimReady nodeclaim/worker-1-0a1b2c: a note",
		"     18.0s  StandInScaleUp pod/hello-1: a note",
		"POWER LOG",
		"      8.0s  worker-1: PowerOnRequested",
		"      9.0s  worker-1: PoweredOn",
		"     20.0s  always-on: Ready itself",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("picture (-want +got):\n%s", diff)
	}
	if running := s.world.running(); len(running) != 1 {
		t.Errorf("machines on: %v; the always-on node is none", running)
	}
}
