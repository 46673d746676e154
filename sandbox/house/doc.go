// Package house is what end-to-end tests of one machine's life share: a House is one cluster with one machine room and
// the node that runs power Jobs, a Home is one test's namespace in it, with a pool of one machine, its slot, and a
// manager that runs in process behind a proxy. What a test asserts is its own affair.
package house
