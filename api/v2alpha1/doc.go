// Package v2alpha1 is the API of homelab-autoscaler: a Group is the policy of a pool, a Node (slot) is one machine's
// configuration, and a NodeClaim is one request for one machine. A machine is wanted exactly while a live, unmarked
// NodeClaim names its slot; nothing stores desired power.
//
// +kubebuilder:object:generate=true
// +groupName=infra.homecluster.dev
package v2alpha1
