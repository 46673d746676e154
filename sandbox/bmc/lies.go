package bmc

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// Lies are the ways in which one protocol deceives whoever uses it. The zero value is the truth. A magic packet has no
// answer, no session and no password, so that only the lies about a lost packet and a swallowed power-on show with it.
type Lies struct {
	// SwallowPowerOn accepts a power-on and does nothing.
	SwallowPowerOn machineroom.Times `json:"swallowPowerOn,omitzero"`
	// IgnoreSoftOff accepts a soft-off and does nothing.
	IgnoreSoftOff machineroom.Times `json:"ignoreSoftOff,omitzero"`
	// DoNothing accepts any action and does nothing.
	DoNothing machineroom.Times `json:"doNothing,omitzero"`
	// AnswerLate does what was asked at once and answers that much later. A magic packet is acted upon that much later.
	AnswerLate metav1.Duration `json:"answerLate,omitzero"`
	// AnswerNever takes every packet and connection, and neither does nor says anything.
	AnswerNever bool `json:"answerNever,omitzero"`
	// HangUp does what was asked and ends the connection in place of an answer.
	HangUp machineroom.Times `json:"hangUp,omitzero"`
	// RefuseSessions has no session to give, as a controller that was asked too often.
	RefuseSessions machineroom.Times `json:"refuseSessions,omitzero"`
	// RejectPassword knows another password than the machine's.
	RejectPassword bool `json:"rejectPassword,omitzero"`
	// WrongState says on of a machine that is off, and off of one that is on. The SSH server, which knows no power state,
	// cannot be reached on a machine that is up, and can on one that is off.
	WrongState bool `json:"wrongState,omitzero"`
	// Flap tells every second reading wrong, the first one among them. The SSH server cuts every second connection.
	Flap bool `json:"flap,omitzero"`
	// DropPackets loses packets, or cuts connections, before anything is heard.
	DropPackets machineroom.Times `json:"dropPackets,omitzero"`
}

// Validate refuses what no protocol could show.
func (l Lies) Validate() error {
	for name, times := range map[string]machineroom.Times{
		"swallowPowerOn": l.SwallowPowerOn, "ignoreSoftOff": l.IgnoreSoftOff, "doNothing": l.DoNothing,
		"hangUp": l.HangUp, "refuseSessions": l.RefuseSessions, "dropPackets": l.DropPackets,
	} {
		if times < machineroom.Always {
			return fmt.Errorf("%s must be %d (always), 0 or more, not %d", name, machineroom.Always, times)
		}
	}
	if l.AnswerLate.Duration < 0 {
		return fmt.Errorf("answerLate must not be negative, is %s; answerNever is what never comes", l.AnswerLate.Duration)
	}
	return nil
}

// The kinds of events that only a protocol knows; the others are the machine room's.
const (
	LiesChanged      machineroom.Kind = "LiesChanged"
	AnswerWithheld   machineroom.Kind = "AnswerWithheld"
	AnswerDelayed    machineroom.Kind = "AnswerDelayed"
	HungUp           machineroom.Kind = "HungUp"
	SessionRefused   machineroom.Kind = "SessionRefused"
	PasswordRejected machineroom.Kind = "PasswordRejected"
	WrongStateTold   machineroom.Kind = "WrongStateTold"
	PacketDropped    machineroom.Kind = "PacketDropped"
	// RelayUnmoved is a plug that was asked for what it already had.
	RelayUnmoved machineroom.Kind = "RelayUnmoved"
)
