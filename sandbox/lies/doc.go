// Package lies plays the life of a claim for every lie that a power switch can tell, over every wiring that can tell it, all
// under one manager on a real control plane. What came of each life is held against the machine room's power log, and all of
// them together against a table, which is there to be read.
//
// What the program power by itself makes of the same lies is in package bmc's table. It is tests alone.
package lies
