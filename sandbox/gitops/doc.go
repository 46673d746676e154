// Package gitops holds docs/gitops.md to what it says: its health checks are run as Argo CD and Flux run them, over the
// statuses that random histories of a machine come to; and what Git applied is found unchanged after a machine's life.
//
// It is tests alone.
package gitops
