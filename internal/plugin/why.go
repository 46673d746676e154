package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/story"
)

func (s *session) why() *cobra.Command {
	return &cobra.Command{
		Use: "why SLOT|CLAIM", Short: "Tell the story of a machine: who asked, what happened, what is waited for, what to do",
		Args: one("SLOT|CLAIM"), ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			told, err := s.tell(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if done, err := s.out.data(told); done {
				return err
			}
			s.printStory(told)
			return nil
		},
	}
}

// tell finds the slot, or the claim, of that name. A slot is looked for first.
func (s *session) tell(ctx context.Context, name string) (*story.Story, error) {
	p, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	for _, slot := range p.slots {
		claims := p.claims[slot.Name]
		if slot.Name == name {
			return new(story.Of(slot, claims, nil, s.clock.Now())), nil
		}
		for _, claim := range claims {
			if claim.Name == name {
				return new(story.Of(slot, claims, claim, s.clock.Now())), nil
			}
		}
	}
	namespace, err := s.namespace()
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there is neither a slot nor a claim of a slot called %s in namespace %s%s", name, namespace, p.hint())
}

func (s *session) printStory(told *story.Story) {
	s.out.say("%s", s.out.colour(bold, told.Headline))
	if told.Asked != "" {
		s.out.say("%s (claim %s).", told.Asked, told.Claim)
	}
	if told.Reading != "" {
		s.out.say("%s.", told.Reading)
	}
	for _, step := range told.Happened {
		s.out.say("  %s  %s", step.At.Format(time.RFC3339), step.What)
	}
	if told.Waiting != "" {
		until := ""
		if told.Until != nil {
			until = fmt.Sprintf(" (until %s)", told.Until.Format(time.RFC3339))
		}
		s.out.say("%s %s%s", s.out.colour(yellow, "Waiting for"), told.Waiting, until)
	}
	if told.Switch != nil {
		s.switchLine("on", told.Switch.Startup)
		s.switchLine("off", told.Switch.Shutdown)
	}
	for _, line := range told.Do {
		s.out.say("%s %s", s.out.colour(green, "→"), line)
	}
}

// switchLine says with which command line the operator switches a machine, where it derives one.
func (s *session) switchLine(to, line string) {
	if line != "" {
		s.out.say("It is switched %s by: %s", to, line)
	}
}

// past is one claim in the history of a slot.
type past struct {
	Claim     string         `json:"claim"`
	Phase     v2.ClaimPhase  `json:"phase"`
	Reason    v2.ClaimReason `json:"reason,omitempty"`
	Attempt   int32          `json:"attempt,omitempty"`
	AskedBy   string         `json:"askedBy,omitempty"`
	Asked     time.Time      `json:"asked"`
	Boot      string         `json:"boot,omitempty"`
	Ready     string         `json:"ready,omitempty"`
	Collected bool           `json:"collected,omitempty"`
	Call      v2.Call        `json:"call,omitempty"`
	EndedBy   *v2.ClaimEnd   `json:"endedBy,omitempty"`
}

func (s *session) history() *cobra.Command {
	return s.oneSlot("history", "List the claims of a slot, newest first, back to the one that the slot remembers",
		func(_ context.Context, slot *v2.Node, claims []*v2.NodeClaim) error {
			all := historyOf(slot, claims, s.clock.Now())
			if done, err := s.out.data(all); done {
				return err
			}
			if len(all) == 0 {
				return errors.New("nobody has asked for this machine yet")
			}
			var rows [][]string
			for _, p := range all {
				rows = append(rows, []string{p.Claim, string(p.Phase), orDash(string(p.Reason)), fmt.Sprint(p.Attempt),
					orDash(p.AskedBy), p.Asked.UTC().Format(time.RFC3339), orDash(p.Boot), orDash(p.Ready)})
			}
			s.out.table([]string{"CLAIM", "PHASE", "REASON", "ATTEMPT", "ASKED-BY", "ASKED", "BOOT", "READY-FOR"}, rows)
			return nil
		})
}
