// Package pool answers every question about one group of slots: what is offerable and why the rest is not, how large
// the group is meant to be, which machines it lists, which slot is taken next, which claims an RPC may take back, and
// what a machine of it looks like to a scheduler.
//
// Pure: a View in, values out. The provider renders the answers for cluster-autoscaler, the group controller saves the
// numbers; both read the same functions, so that what kubectl shows is what the client was told.
package pool
