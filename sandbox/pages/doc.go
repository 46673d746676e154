// Package pages holds the pages about power switches, and the samples, to what they promise: what can be copied from them is
// taken by the real API server, the slots work simulated machines, and what they quote is what the program power says.
//
// It is tests alone.
package pages
