// Package uninstall takes the operator out of a cluster with a simulated machine in use, in the right order and in the
// wrong ones, and looks at the machine's own power log: nothing is switched, and nothing stays Terminating.
//
// It is tests alone.
package uninstall
