// Package replicas runs whole managers on a real API server: one that has nothing to do, and two of which one leads.
//
// It is tests alone.
package replicas
