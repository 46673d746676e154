package model

import (
	"slices"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// restLaws: when every fault has ended and nothing is left to happen, the machine is as it is wanted.
func restLaws() []Law {
	return []Law{
		{Name: "at rest no claim waits", rest: nobodyWaits},
		{Name: "at rest the machine of a wanted claim is on and heard", rest: onWhenWanted},
		{Name: "at rest a machine that nothing wants is off, or hidden from all evidence", rest: offWhenUnwanted},
		{Name: "at rest nothing is left behind", rest: tidy},
		{Name: "at rest the digest tells of no life that has ended", rest: digestAtRest},
	}
}

func nobodyWaits(s *State) string {
	for _, c := range s.Claims {
		if facts.Live(c) && facts.Phase(c) != v2.ClaimReady {
			return wrong("claim %s is %s", c.Name, facts.Phase(c))
		}
	}
	return ""
}

func onWhenWanted(s *State) string {
	if c := s.wanted(); c != nil && (!s.Metal.On || !s.heard()) {
		return wrong("claim %s is %s, the machine is on: %t, heard: %t", c.Name, c.Status.Phase, s.Metal.On, s.heard())
	}
	return ""
}

// Hidden is why a machine that nothing wants may be on at rest, or empty when it may not.
func Hidden(s *State) string {
	switch {
	case s.Slot == nil || s.Terminating:
		return "its slot is gone"
	case s.Group == nil:
		return "its group is missing, so it is left as it is"
	case s.Slot.Status.PowerSource == v2.PowerSourceAssumed:
		return "assumed off"
	case s.Ghost.Misread && s.Slot.Status.PowerState == v2.PowerOff && s.KubeNode == nil:
		return "behind a switch that turned to off and was wrong"
	case s.heard():
		return ""
	case s.Slot.Status.PowerState == v2.PowerOff && s.Slot.Status.LastShutdownTime != nil:
		return "behind a lying Job and a dead network"
	case s.KubeNode == nil:
		return "its kubeNode was deleted by hand"
	}
	return "behind a dead network"
}

func offWhenUnwanted(s *State) string {
	if s.wanted() == nil && s.Metal.On && Hidden(s) == "" {
		return "its kubelet reports"
	}
	return ""
}

func tidy(s *State) string {
	for _, c := range s.Claims {
		if c.DeletionTimestamp != nil || facts.Terminal(c) {
			return wrong("claim %s, %s", c.Name, facts.Phase(c))
		}
	}
	if left := leftJobs(s); left != "" {
		return left
	}
	switch {
	case s.Slot != nil && s.Slot.DeletionTimestamp != nil:
		return "a slot on its way out"
	case s.Slot != nil && s.Slot.Status.Unclaimed != nil && s.Group != nil:
		return "a machine that nobody claims"
	case s.Slot != nil && s.wanted() == nil && slices.Contains(s.Slot.Finalizers, v2.FinalizerSlot):
		return "our finalizer on a slot without a machine"
	}
	return leftOnKubeNode(s)
}

func leftOnKubeNode(s *State) string {
	switch wanted := s.wanted() != nil; {
	case s.KubeNode == nil:
	case wanted && s.KubeNode.Spec.Unschedulable && s.Left[Cordons] == 0 && ours(s):
		return "our cordon on a machine that serves"
	case wanted && !s.held() && s.KubeNode.Annotations[facts.AnnotationScaleDownDisabled] != "":
		return "a machine that serves and that nobody holds, shown as held"
	case !wanted && s.stands() && s.Group == nil && s.heard() && ours(s):
		return "our cordon on a machine that is left on"
	}
	return ""
}

func leftJobs(s *State) string {
	if open := unfinished(&s.Objects); len(open) > 0 {
		return wrong("Jobs %v", open)
	}
	for _, j := range s.Jobs {
		if s.Slot != nil && j.Spec.TTLSecondsAfterFinished == nil {
			return wrong("Job %s without a time to live", j.Name)
		}
	}
	return ""
}

func ours(s *State) bool { return s.KubeNode.Annotations[v2.AnnotationCordoned] != "" }

func digestAtRest(s *State) string {
	if s.Slot == nil || s.Slot.Status.LastClaim == nil {
		return ""
	}
	digest := s.Slot.Status.LastClaim
	if digest.Phase != v2.ClaimFailed && digest.Phase != v2.ClaimCompleted && s.claim(digest.Name) == nil {
		return wrong("claim %s is gone, it says %s", digest.Name, digest.Phase)
	}
	return ""
}
