package demo

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/liveview"
	"homecluster.dev/autoscaler/sandbox/standin"
)

// hear puts an event into the feed, once per time it happened. Only those of our kinds and of whoever asks for machines
// are part of the story; the cluster says much else.
func (w *World) hear(at time.Duration, event *eventsv1.Event) {
	if !ofTheStory(event) {
		return
	}
	count := int32(1)
	if event.Series != nil {
		count = event.Series.Count
	}
	if count <= w.heard[event.Name] {
		return
	}
	w.heard[event.Name] = count
	tone := liveview.Plain
	if event.Type == corev1.EventTypeWarning {
		tone = liveview.Bad
	}
	text := fmt.Sprintf("%s %s/%s: %s", event.Reason, strings.ToLower(event.Regarding.Kind), event.Regarding.Name, event.Note)
	w.events.Add(liveview.Line{At: at, Text: text, Tone: tone})
}

func ofTheStory(event *eventsv1.Event) bool {
	return strings.HasPrefix(event.Regarding.APIVersion, v2.GroupVersion.Group+"/") ||
		event.ReportingController == standin.UserAgent ||
		strings.HasPrefix(event.ReportingController, "cluster-autoscaler") ||
		strings.HasPrefix(event.DeprecatedSource.Component, "cluster-autoscaler")
}
