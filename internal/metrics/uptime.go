package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

var slotOnSeconds = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "slot_on_seconds_total"),
	"How long the machine has been on since this replica began to lead. Times the hourly rate or the watts it is what the machine cost.",
	slotLabels, nil)

// uptime adds up for how long each machine was on. It looks only when a scrape does: between two looks a machine counts
// as on from the moment, or until the moment, that its status says its power changed.
type uptime struct {
	mu    sync.Mutex
	slots map[types.UID]*look
}

// look is one slot as the scrape before saw it.
type look struct {
	at    time.Time
	on    bool
	total time.Duration
}

func newUptime() *uptime { return &uptime{slots: map[types.UID]*look{}} }

// seconds takes a look at the slot and answers its sum. The first look is where counting begins.
func (u *uptime) seconds(slot *v2.Node, now time.Time) float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	on := slot.Status.PowerState == v2.PowerOn
	last, known := u.slots[slot.UID]
	if !known {
		u.slots[slot.UID] = &look{at: now, on: on}
		return 0
	}
	changed := last.at
	if since := slot.Status.PowerStateSince; since != nil && since.After(last.at) && !since.After(now) {
		changed = since.Time
	}
	if last.on {
		last.total += changed.Sub(last.at)
	}
	if on {
		last.total += now.Sub(changed)
	}
	last.at, last.on = now, on
	return last.total.Seconds()
}

// keep forgets the slots that are gone.
func (u *uptime) keep(slots []v2.Node) {
	u.mu.Lock()
	defer u.mu.Unlock()
	present := make(map[types.UID]bool, len(slots))
	for i := range slots {
		present[slots[i].UID] = true
	}
	for uid := range u.slots {
		if !present[uid] {
			delete(u.slots, uid)
		}
	}
}
