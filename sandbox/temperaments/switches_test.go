package temperaments_test

import (
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// window is that of a boot whose startup Job fails: long enough for that, and the reversal of a machine that was never seen
// waits for its end.
const window = 45 * time.Second

// otherSwitches are good machines whose switch is none of IPMI, and lies. What power makes of every lie over every protocol is
// in package bmc's table; here each protocol has its part in a claim's life.
func otherSwitches() map[string]scenario {
	const always = machineroom.Always
	return map[string]scenario{
		"has a Redfish service that rejects the password": {play: func(h home) {
			h.wireBy(bmc.ByRedfish, bmc.Redfish, bmc.Lies{RejectPassword: true})
			h.bootFails("power on: credentials", "There is no valid session")
			h.neverSeen()
		}},
		"is woken by packets that all get lost": {play: func(h home) {
			h.wireBy(bmc.ByPackets, bmc.WakeOnLAN, bmc.Lies{DropPackets: always})
			h.bootFails("power on: unobserved", "the last reading is: unknown")
			h.neverSeen()
			h.counts(machineroom.PoweredOn, 0)
		}},
		"has a plug that says yes and does nothing": {play: func(h home) {
			h.wireBy(bmc.ByPlug, bmc.Plug, bmc.Lies{DoNothing: always})
			h.bootFails("power on: unobserved", "the last reading is: off")
			h.counts(machineroom.PoweredOn, 0)
		}},
		"has a plug behind which it does not obey, and is cut": {play: func(h home) {
			h.wireBy(bmc.ByPlug, bmc.SSH, bmc.Lies{IgnoreSoftOff: always}, "--force-after=2s")
			h.boot(firstClaim, 1)
			h.goesDown()
			h.counts(machineroom.SoftOffIgnored, 1)
			h.counts(machineroom.PowerOffRequested, 1)
		}},
	}
}

// switches are good machines whose controller lies over IPMI, worked by the program power.
func switches() map[string]scenario {
	const always = machineroom.Always
	return map[string]scenario{
		"has a controller that swallows every power-on": {play: func(h home) {
			h.wire(bmc.Lies{SwallowPowerOn: always})
			h.bootFails("power on: unobserved", "the last reading is: off")
			h.counts(machineroom.PowerOnSwallowed, 3)
			h.counts(machineroom.PoweredOn, 0)
		}},
		"has a controller that ignores every soft-off, and is cut in the end": {play: func(h home) {
			h.wire(bmc.Lies{IgnoreSoftOff: always}, "--force-after=2s")
			h.boot(firstClaim, 1)
			h.goesDown()
			h.counts(machineroom.SoftOffIgnored, 1)
			h.counts(machineroom.PowerOffRequested, 1)
		}},
		"has a controller that answers late": {play: func(h home) {
			h.wire(bmc.Lies{AnswerLate: metav1.Duration{Duration: 300 * time.Millisecond}})
			h.boot(firstClaim, 1)
			h.goesDown()
			h.counts(machineroom.PowerOnRequested, 1)
			h.counts(machineroom.SoftOffRequested, 1)
		}},
		"has a controller that never answers": {play: func(h home) {
			h.wire(bmc.Lies{AnswerNever: true})
			h.bootFails("power on: unreachable", "no answer")
			h.neverSeen()
		}},
		"has a controller that refuses sessions until the boot has failed": {play: func(h home) {
			panel := h.wire(bmc.Lies{RefuseSessions: always})
			h.Ask(firstClaim, window)
			h.untilFailed("power on: refused", "Insufficient resources")
			h.answer(panel, bmc.Lies{})
			h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonStartupJobFailed, 1)
			h.counts(machineroom.PoweredOn, 0)
		}},
		"has a controller that says on when the machine is off": {play: func(h home) {
			h.wire(bmc.Lies{WrongState: true})
			h.Ask(firstClaim, soon)
			h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
			h.counts(machineroom.PoweredOn, 0)
			h.jobs("startup", 1)
			h.neverSeen()
		}},
		"has a controller that flaps": {play: func(h home) {
			// Its Jobs fail, for no two readings agree; the kubelet is believed all the same.
			h.wire(bmc.Lies{Flap: true})
			h.boot(firstClaim, 1)
			h.goesDown()
			h.counts(machineroom.PoweredOn, 1)
			h.counts(machineroom.PoweredOff, 1)
		}},
		"has a controller that loses the first packet": {play: func(h home) {
			panel := h.wire(bmc.Lies{DropPackets: 1})
			h.boot(firstClaim, 1)
			h.answer(panel, bmc.Lies{DropPackets: 1})
			h.goesDown()
			h.counts(bmc.PacketDropped, 2)
			h.counts(machineroom.PowerOnRequested, 1)
			h.counts(machineroom.SoftOffRequested, 1)
		}},
		"has a controller that rejects the password": {play: func(h home) {
			h.wire(bmc.Lies{RejectPassword: true})
			h.bootFails("power on: credentials", "the user name or the password is wrong")
			h.neverSeen()
			h.counts(machineroom.PoweredOn, 0)
		}},
		"has a controller that says yes to all, and a tool that exits 0": {play: func(h home) {
			h.wire(bmc.Lies{DoNothing: always}, "--ok=unobserved")
			h.Ask(firstClaim, soon)
			h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
			h.counts(machineroom.CommandDidNothing, 3)
			h.counts(machineroom.PoweredOn, 0)
		}},
	}
}

// wire gives the home's machine a controller that lies so, and lets its slot work it.
func (h home) wire(lies bmc.Lies, flags ...string) *bmc.Panel {
	h.T.Helper()
	return h.wireBy(bmc.ByIPMI, bmc.IPMI, lies, flags...)
}

// wireBy gives the home's machine a switch, one of whose protocols lies so, and lets its slot work it.
func (h home) wireBy(wiring bmc.Wiring, liar bmc.Protocol, lies bmc.Lies, flags ...string) *bmc.Panel {
	h.T.Helper()
	panel, err := bmc.Wire(h.T.Context(), h.Metal, bmc.Options{Dir: h.T.TempDir(), Protocols: wiring.Protocols()})
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(panel.Close)
	flags = append([]string{"--timeout=3s", "--reach=4s", "--observe=6s"}, flags...)
	wired, secret, err := panel.Slot(wiring, h.Namespace, house.Pool, flags...)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Create(secret)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		slot := &v2.Node{}
		if err := h.Client.Get(h.T.Context(), client.ObjectKeyFromObject(wired), slot); err != nil {
			return err
		}
		slot.Spec.StartupPodSpec, slot.Spec.ShutdownPodSpec = wired.Spec.StartupPodSpec, wired.Spec.ShutdownPodSpec
		return h.Client.Update(h.T.Context(), slot)
	})
	if err != nil {
		h.T.Fatal(err)
	}
	h.lies(panel, liar, lies)
	return panel
}

// answer changes how the controller lies.
func (h home) answer(panel *bmc.Panel, lies bmc.Lies) {
	h.T.Helper()
	h.lies(panel, bmc.IPMI, lies)
}

func (h home) lies(panel *bmc.Panel, protocol bmc.Protocol, lies bmc.Lies) {
	h.T.Helper()
	if err := panel.SetLies(protocol, lies); err != nil {
		h.T.Fatal(err)
	}
}

// bootFails asks for the machine, and waits until its startup Job has failed with these words and nothing is owed.
func (h home) bootFails(words ...string) {
	h.T.Helper()
	h.Ask(firstClaim, window)
	h.untilFailed(words...)
	h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonStartupJobFailed, 1)
	h.jobs("startup", 1)
}

// untilFailed waits for the event that the claim failed, which must say all the words.
func (h home) untilFailed(words ...string) {
	h.T.Helper()
	told := h.untilTold(v2.EventClaimFailed)
	for _, word := range words {
		if !strings.Contains(told.Note, word) {
			h.T.Errorf("the event says %q, and nothing of %q", told.Note, word)
		}
	}
}

// goesDown gives the machine back, and waits until it is believed off after it was.
func (h home) goesDown() {
	h.T.Helper()
	h.TakeBack(firstClaim)
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
	h.untilNoKubeNode()
}

// neverSeen fails unless the machine's reversal ended without any sign of it, after as many tries as there may be.
func (h home) neverSeen() {
	h.T.Helper()
	slot := h.UntilSlot("off by assumption", func(slot *v2.Node) bool { return slot.Status.PowerSource == v2.PowerSourceAssumed })
	if slot.Status.PowerState != v2.PowerUnknown {
		h.T.Errorf("the slot says %s of a machine that nobody saw", slot.Status.PowerState)
	}
	h.untilTold(v2.EventMachineAssumedOff)
	jobs := h.Jobs("shutdown")
	if len(jobs) != 3 || slices.ContainsFunc(h.Room.Log(machineroom.Of(h.Machine)), func(e machineroom.Event) bool { return e.On }) {
		h.T.Errorf("%d shutdown Jobs were made of a machine that was never on", len(jobs))
	}
}
