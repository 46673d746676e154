// Package chart tests the Helm chart as its users meet it: rendered by Helm with every pair of its values and tried on a
// real API server, installed, upgraded and uninstalled by Helm, and run: a manager with the arguments, the certificates
// and the rights that the chart gives it.
//
// It is tests alone.
package chart
