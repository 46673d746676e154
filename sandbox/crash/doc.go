// Package crash lets a manager die, or be refused, at every single API write of an episode, and checks that the world
// converges all the same: one startup Job, one power-on at the machine's own switch, one attempt, one event per reason.
//
// It is tests alone.
package crash
