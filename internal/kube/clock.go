package kube

import "k8s.io/utils/clock"

// Clock is the real clock. Everything else takes a clock.PassiveClock, or a clock.Clock where it waits, so that tests
// step a fake one.
type Clock = clock.RealClock
