// Package provider is the gRPC server that cluster-autoscaler asks: it parses a request, lets core/pool answer, and
// renders the answer. It decides nothing itself.
//
// Reads are answered from a snapshot that the informers and this process's own writes feed. Mutations read the API
// server again, plan in core/pool, and write through internal/kube with preconditions. Claims are the whole state, so
// that every replica answers alike, leader or not.
package provider
