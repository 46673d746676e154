// Package quickstart runs what the first pages of the documentation tell people to type, block after block, against a real
// API server with a simulated machine: with kubectl, Helm and our plugin as they are, and a manager that has the flags,
// the certificates and the rights that the chart gives it.
//
// A simulated kubelet knows no images: it shows the chart's pods as running, and the test stands in for their programs.
// Machines boot in a moment, the manager's settle times are short, and its webhooks are left out, since there is no network
// from the API server to a pod; the rest is as it is at home.
//
// It is tests alone.
package quickstart
