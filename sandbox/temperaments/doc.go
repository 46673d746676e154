// Package temperaments plays, for each way in which a simulated machine misbehaves, one life of it on a real control
// plane with the real manager, and judges its end: the phase and the reason that people read, and by the machine room's
// own power log that the machine is off when nothing wants it.
//
// It is tests alone.
package temperaments
