// Package plugin plays kubectl homelab against a real API server, with the operator and a machine behind it.
package plugin
