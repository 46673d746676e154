// Package story tells a person what is going on with a slot: who asked, what happened, what is waited for, until when, and
// what can be done. It reads what the operator wrote down and decides nothing.
package story

import (
	"fmt"
	"slices"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Story is what there is to say about a slot, or about one claim of it.
type Story struct {
	// Slot and Claim are whom it is about; Claim is empty when no claim is left to tell of.
	Slot  string `json:"slot"`
	Claim string `json:"claim,omitempty"`
	// Headline is the state of things in one sentence.
	Headline string `json:"headline"`
	// Asked says who asked for the machine, when, and which attempt it is.
	Asked string `json:"asked,omitempty"`
	// Reading is what the machine's own power switch said last, and when; empty where nobody reads it.
	Reading string `json:"reading,omitempty"`
	// Happened is what went before, oldest first.
	Happened []Step `json:"happened,omitempty"`
	// Waiting is what is waited for; empty when nothing is.
	Waiting string `json:"waiting,omitempty"`
	// Until is when the wait ends by itself; nil when it does not.
	Until *time.Time `json:"until,omitempty"`
	// Switch is how the machine's switch is worked, where the slot declares one; nil otherwise.
	Switch *v2.SwitchReport `json:"switch,omitempty"`
	// Do is what a person can do, as sentences and commands; empty when there is nothing to be done.
	Do []string `json:"do,omitempty"`
}

// Step is one thing that happened.
type Step struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Of tells of a slot and the claims that name it. With a claim it tells that claim's story, else that of the newest claim
// that matters: a live one before one that ended.
func Of(slot *v2.Node, claims []*v2.NodeClaim, claim *v2.NodeClaim, now time.Time) Story {
	if claim == nil {
		claim = chosen(claims)
	}
	s := Story{Slot: slot.Name, Switch: slot.Status.Switch}
	hold := facts.HoldOf(slot, now)
	switch {
	case claim != nil:
		s.tellClaim(slot, claim)
	case slot.Status.LastClaim != nil:
		s.tellDigest(slot.Status.LastClaim)
	default:
		s.Headline = fmt.Sprintf("%s is %s. Nobody has asked for it yet.", slot.Name, phase(slot))
	}
	s.tellReading(slot, now)
	s.tellUnclaimed(slot)
	s.tellHold(slot, hold)
	slices.SortStableFunc(s.Happened, func(a, b Step) int { return a.At.Compare(b.At) })
	return s
}

// chosen is the claim that a question about the slot is about.
func chosen(claims []*v2.NodeClaim) *v2.NodeClaim {
	if live := facts.NewestLive(claims); live != nil {
		return live
	}
	return facts.Newest(claims)
}

func phase(slot *v2.Node) v2.SlotPhase {
	if slot.Status.Phase == "" {
		return v2.SlotOff
	}
	return slot.Status.Phase
}

func (s *Story) happened(at time.Time, format string, args ...any) {
	s.Happened = append(s.Happened, Step{At: at.UTC(), What: fmt.Sprintf(format, args...)})
}

func (s *Story) wait(until time.Time, format string, args ...any) {
	s.Waiting = fmt.Sprintf(format, args...)
	s.Until = nil
	if !until.IsZero() {
		s.Until = new(until.UTC())
	}
}

func (s *Story) do(format string, args ...any) {
	s.Do = append(s.Do, fmt.Sprintf(format, args...))
}

func (s *Story) tellUnclaimed(slot *v2.Node) {
	record := slot.Status.Unclaimed
	if record == nil {
		return
	}
	s.Headline = fmt.Sprintf("%s is on, and no claim wants it.", slot.Name)
	s.happened(record.Since.Time, "the machine was seen on though no claim wants it")
	s.jobs(record.Jobs)
	s.wait(time.Time{}, "what the group does with unclaimed machines: %s", message(slot.Status.Conditions, v2.ConditionUnclaimedMachine))
	s.do("to keep it on for a while: kubectl homelab hold %s --reason WHY", slot.Name)
	s.do("to keep it on for the pool: kubectl homelab up %s", slot.Name)
}

func (s *Story) tellHold(slot *v2.Node, hold facts.Hold) {
	if !hold.Held {
		return
	}
	s.wait(hold.Until, "the end of a hold: %s", hold.Why)
	if slot.Spec.Suspend {
		s.do("set spec.suspend of the slot to false, where it comes from")
		return
	}
	s.do("to end the hold: kubectl homelab release %s", slot.Name)
}
