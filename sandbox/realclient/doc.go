// Package realclient lets a real cluster-autoscaler drive a whole manager against real kubeNodes, and judges by API
// objects and by the machine room's power log what came of it; never by what a program logged.
//
// The scenarios are skipped unless CLUSTER_AUTOSCALER is the path of a cluster-autoscaler binary that was built with the
// externalgrpc provider:
//
//	CLUSTER_AUTOSCALER=/path/to/cluster-autoscaler go test -timeout 60m ./realclient
//
// Between the client and the provider stands a tap, which notes every call and can keep one back or spoil its answer.
// Each scenario ends with a note of the calls that were made and the objects and power events that came of them (-v).
//
// It is tests alone, and they run one after the other: a cluster has one autoscaler.
package realclient
