// Package observer reads machines' own power switches and saves what they say in status.powerReading of their slots. It is
// the program power-observer, beside the manager and never in it: docs/adr/0005 says why.
//
// Each slot with a readable switch has a line: one goroutine that asks, judges and saves, so that a switch which hangs holds
// up nobody but itself. Slots behind one address take turns.
package observer
