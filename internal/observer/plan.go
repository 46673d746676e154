package observer

import "time"

// Pace is how often switches are asked. BMCs are small computers: some stop answering after being asked too often.
type Pace struct {
	// Interval is how long after one round the next begins (1m), or up to a quarter of it later, by chance, so that rounds
	// do not gather.
	Interval time.Duration
	// LeastGap is how long after a round the next begins at the earliest, whatever happens (10s).
	LeastGap time.Duration
	// FollowUp is how long after the first round behind an operation the second begins (15s): many machines need that long
	// to go off, and only what was read surely after the operation began counts.
	FollowUp time.Duration
	// LongestPause bounds the pause that doubles with every round that came to nothing (10m).
	LongestPause time.Duration
	// Lockout is how long credentials that were refused are not tried again at that place, unless they change (15m).
	Lockout time.Duration
	// Steady is the pause before an answer that differs from the last is asked for again (2s).
	Steady time.Duration
	// Refresh is how old a saved reading may become while nothing changes (2m). With a round's length it stays well below
	// the five minutes for which a reading counts.
	Refresh time.Duration
}

// Gentle is the pace for real switches.
func Gentle() Pace {
	return Pace{Interval: time.Minute, LeastGap: 10 * time.Second, FollowUp: 15 * time.Second, LongestPause: 10 * time.Minute,
		Lockout: 15 * time.Minute, Steady: 2 * time.Second, Refresh: 2 * time.Minute}
}

// spread is the part of a pause by which chance makes it longer.
const spread = 0.25

// plan is when a line asks next.
type plan struct {
	// asked is when the last round ended; zero: there was none, and the first begins at first.
	asked, first time.Time
	// failed counts the rounds in a row that came to nothing.
	failed int
	// spared is whether the switch is left alone anyhow until the credentials are others: the next round looks for these.
	spared bool
	// urgent is whether something happened since the last round began: it is asked as soon as may be.
	urgent bool
	// follow is whether an operation ended before the last round: one more follows soon.
	follow bool
}

// due is when the next round begins; chance is from 0 up to 1.
func (p plan) due(pace Pace, chance float64) time.Time {
	switch {
	case p.asked.IsZero():
		return p.first
	case p.urgent:
		return p.asked.Add(pace.LeastGap)
	case p.follow:
		return p.asked.Add(pace.FollowUp)
	}
	pause := pace.Interval
	for n := 1; n < p.failed && !p.spared; n++ {
		if pause = min(2*pause, pace.LongestPause); pause == pace.LongestPause {
			break
		}
	}
	return p.asked.Add(pause + time.Duration(float64(pause)*spread*chance))
}
