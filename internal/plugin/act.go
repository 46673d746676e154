package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

func (s *session) up() *cobra.Command {
	return s.oneSlot("up", "Ask for a machine: make a claim for its slot",
		func(ctx context.Context, slot *v2.Node, claims []*v2.NodeClaim) error {
			if live := facts.NewestLive(claims); live != nil {
				return fmt.Errorf("slot %s is claimed already, by %s (%s)", slot.Name, live.Name, facts.Phase(live))
			}
			group := slot.Labels[v2.LabelGroup]
			if group == "" {
				return fmt.Errorf("slot %s has no label %q: its machine belongs to no group, so nothing says how to treat it", slot.Name, v2.LabelGroup)
			}
			claim := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: slot.Namespace, GenerateName: slot.Name + "-",
				Labels: map[string]string{v2.LabelGroup: group, v2.LabelNode: slot.Name},
			}}
			claim.Spec.SlotRef.Name = slot.Name
			claim.Spec.Request = v2.ClaimRequest{Call: v2.CallCreate, Group: group}
			claim.Spec.RequestedBy = s.user(ctx)
			if err := s.cluster.Create(ctx, claim); err != nil {
				return explain(fmt.Errorf("asking for the machine of slot %s: %w", slot.Name, err))
			}
			s.out.say("claim %s asks for %s; follow it with: kubectl homelab why %s", claim.Name, slot.Name, slot.Name)
			return nil
		})
}

// user is the name the API server knows the caller by; empty when it does not say.
func (s *session) user(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := s.cluster.Create(ctx, review); err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

func (s *session) down() *cobra.Command {
	return s.oneSlot("down", "Give a machine back: delete the claim that wants it; its pods are drained first",
		func(ctx context.Context, slot *v2.Node, claims []*v2.NodeClaim) error {
			gone := 0
			for _, claim := range claims {
				if !facts.Live(claim) {
					continue
				}
				if err := s.cluster.Delete(ctx, claim, &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}}); client.IgnoreNotFound(err) != nil {
					return explain(fmt.Errorf("deleting claim %s: %w", claim.Name, err))
				}
				s.out.say("claim %s is deleted; %s is switched off when its pods have left", claim.Name, slot.Name)
				gone++
			}
			if gone == 0 {
				s.out.say("no claim wants %s: there is nothing to give back", slot.Name)
			}
			return nil
		})
}

func (s *session) hold() *cobra.Command {
	var reason string
	var span time.Duration
	cmd := s.oneSlot("hold", "Keep every power operation from starting on a slot",
		func(ctx context.Context, slot *v2.Node, _ []*v2.NodeClaim) error {
			if reason == "" {
				return errors.New("say why with --reason: the hold is shown to everybody")
			}
			until, ending := "", ""
			if span > 0 {
				until = s.clock.Now().Add(span).UTC().Format(time.RFC3339)
				ending = " until " + until
			}
			who := s.user(ctx)
			if who != "" {
				reason = who + ": " + reason
			}
			if err := s.annotate(ctx, slot, reason, until); err != nil {
				return err
			}
			s.out.say("slot %s is held%s", slot.Name, ending)
			return nil
		})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever meets the hold")
	cmd.Flags().DurationVar(&span, "for", 0, "how long, for example 2h; without it the hold lasts until it is released")
	return cmd
}

func (s *session) release() *cobra.Command {
	return s.oneSlot("release", "End the hold of a slot",
		func(ctx context.Context, slot *v2.Node, _ []*v2.NodeClaim) error {
			if err := s.annotate(ctx, slot, "", ""); err != nil {
				return err
			}
			if slot.Spec.Suspend {
				s.out.say("slot %s is still held by spec.suspend: change that where the slot comes from", slot.Name)
				return nil
			}
			s.out.say("slot %s is released", slot.Name)
			return nil
		})
}

// annotate writes, or with empty values removes, the annotations of a hold.
func (s *session) annotate(ctx context.Context, slot *v2.Node, why, until string) error {
	before := slot.DeepCopy()
	for key, value := range map[string]string{v2.AnnotationHold: why, v2.AnnotationHoldUntil: until} {
		if value == "" {
			delete(slot.Annotations, key)
			continue
		}
		metav1.SetMetaDataAnnotation(&slot.ObjectMeta, key, value)
	}
	if err := s.cluster.Patch(ctx, slot, client.MergeFrom(before)); err != nil {
		return explain(fmt.Errorf("annotating slot %s: %w", slot.Name, err))
	}
	return nil
}

// reset clears what keeps a slot back: the streak of failed boots, and the spent shutdown attempts.
func (s *session) reset() *cobra.Command {
	return s.oneSlot("reset", "Offer a slot again at once, and end the pause between shutdown attempts",
		func(ctx context.Context, slot *v2.Node, claims []*v2.NodeClaim) error {
			var done []string
			before := slot.DeepCopy()
			if last := slot.Status.LastClaim; last != nil && last.Attempt != 0 && last.Phase == v2.ClaimFailed {
				last.Attempt = 0
				done = append(done, "its failed boots are forgotten")
			}
			if record := slot.Status.Unclaimed; record != nil && record.ShutdownAttempts != 0 {
				record.ShutdownAttempts = 0
				done = append(done, "its shutdown is tried again now")
			}
			if len(done) > 0 {
				if err := s.cluster.Status().Patch(ctx, slot, client.MergeFrom(before)); err != nil {
					return explain(fmt.Errorf("resetting slot %s: %w", slot.Name, err))
				}
			}
			for _, claim := range claims {
				if claim.Status.ShutdownAttempts == 0 || !facts.OwesReversal(claim, slot) {
					continue
				}
				before := claim.DeepCopy()
				claim.Status.ShutdownAttempts = 0
				if err := s.cluster.Status().Patch(ctx, claim, client.MergeFrom(before)); err != nil {
					return explain(fmt.Errorf("resetting claim %s: %w", claim.Name, err))
				}
				done = append(done, "the shutdown of claim "+claim.Name+" is tried again now")
			}
			if len(done) == 0 {
				done = append(done, "nothing keeps it back")
			}
			s.out.say("slot %s: %s", slot.Name, strings.Join(done, ", "))
			return nil
		})
}
