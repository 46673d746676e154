// Package crash lets a manager die, or be refused, at every single API write of an episode, and checks that the world
// converges all the same: one startup Job, one power-on at the machine's own switch, one attempt, the right reason, one
// event per reason. The episodes are a boot, a scale-down, a failed boot, a delete while booting, a claim that is
// superseded, a slot that is deleted, a machine that is gone, and one that nobody claims. Beside that it holds the
// announcements to what was written.
//
// A boot and a scale-down are disturbed in every run; go test -args -crash.all disturbs every kind of episode.
//
// It is tests alone.
package crash
