// Package conformance holds a provider to cluster-autoscaler's externalgrpc contract.
//
// The suite speaks to an address and assumes nothing about what stands behind it: groups and instances are whatever the
// provider lists, and a Finding says what differs. What the wire alone cannot bring about (machines that boot, fail and go
// off) goes through the small interface Ground; without one, the cases that want it are reported as not judged.
//
//	go test ./conformance -run TestConformance -conformance.addr=host:port \
//	    [-conformance.cacert=… -conformance.cert=… -conformance.key=…] [-conformance.group=id]
//
// By default the suite runs against this project's own provider, in process and as the built binary, in plaintext and by
// mutual TLS. The package's other tests are this project's alone: what calls leave on the API server, two providers
// hammered on one group (-conformance.calls says how often), and random sequences with the controller running
// (-conformance.sequence says for how long; each prints the seed that -conformance.seed plays again).
package conformance
