// Package standin is a stand-in client: it drives the gRPC provider the way a cluster autoscaler does, so that the
// sandbox can show a pool grow and shrink on a machine that has Go and nothing else.
//
// It is not cluster-autoscaler and never says that it is. It knows nothing of slots, claims or this project's kinds. It
// decides from three things only: pods that the scheduler could not place, the template of each node group, and
// kubeNodes on which nothing is left to run. What it does with them follows the real client's order on the wire:
// Refresh, NodeGroups, NodeGroupForNode, templates, sizes and instances; then instances that never came, then the
// scale-up, and only if there was none the scale-down (taint, cordon, evict, DeleteNodes).
//
// The package is three layers. Decide is pure: a Snapshot and a Memory in, a Plan and the next Memory out. Observer
// reads the snapshot and Actor carries the plan out. Client is the loop around them.
//
// Where it is simpler than the real client: it fits pods first-fit instead of simulating the scheduler (resources,
// required node affinity, taints, host ports aside; of the topology rules only those over kubernetes.io/hostname),
// adds no DaemonSet pods to templates, and removes only machines that are empty.
package standin
