// Package conformance holds the provider to cluster-autoscaler's contract where an API server is needed: the calls that
// write. The server runs in process with a cache of its own; nothing else runs, so that what a test finds on the API
// server is what the call left there.
package conformance
