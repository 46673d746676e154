package snapshot

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"homecluster.dev/autoscaler/internal/core/facts"
)

// multimap finds names by a key. Lists are short and sorted, so that two objects that claim one key never take turns.
type multimap map[string][]string

func (m multimap) add(key, name string) {
	if key == "" {
		return
	}
	if i, found := slices.BinarySearch(m[key], name); !found {
		m[key] = slices.Insert(m[key], i, name)
	}
}

func (m multimap) remove(key, name string) {
	i, found := slices.BinarySearch(m[key], name)
	if !found {
		return
	}
	if m[key] = slices.Delete(m[key], i, i+1); len(m[key]) == 0 {
		delete(m, key)
	}
}

// first is the first name under the key, or nothing.
func (m multimap) first(key string) string {
	if names := m[key]; key != "" && len(names) > 0 {
		return names[0]
	}
	return ""
}

// graves remember claims that were seen to disappear, so that the answer to an earlier write of ours, which can arrive
// after that, does not raise the dead.
type graves map[types.UID]time.Time

func (g graves) add(uid types.UID, now time.Time) {
	for old, since := range g {
		if now.Sub(since) > ownWriteFor {
			delete(g, old)
		}
	}
	g[uid] = now
}

func (g graves) has(uid types.UID) bool {
	_, ok := g[uid]
	return ok
}

// saysTheSame is whether two states of a kubeNode lead to the same answers. Most updates are heartbeats.
func saysTheSame(a, b *corev1.Node) bool {
	return a.UID == b.UID && facts.KubeletOn(a) == facts.KubeletOn(b) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) &&
		a.Status.NodeInfo.Architecture == b.Status.NodeInfo.Architecture &&
		a.Status.NodeInfo.OperatingSystem == b.Status.NodeInfo.OperatingSystem
}
