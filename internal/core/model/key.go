package model

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// Key decides whether two states are the same. Absolute times, uids, resourceVersions and generated names are not in it,
// only how they relate: times as ages, names and uids by first mention. Two states of one key have the same future, with
// one exception that is meant: texts for people are left out, so a write that would only reword a message may be missed.
type Key [16]byte

// oldest is the age past which no clock of the policy tells two times apart: beyond the longest cool-off.
const oldest = 7 * time.Hour

// keyer appends the canonical form of a state.
type keyer struct {
	buf   []byte
	now   time.Time
	names []string
}

// Key is the canonical key, with what the scope still allows. The scratch buffer is reused between calls.
func (k *keyer) key(s *State) Key {
	k.world(s)
	k.buf = append(k.buf, s.Left[:]...)
	k.bools(s.Down)
	return k.sum()
}

// worldKey leaves out what the scope still allows: what happens when nothing else happens does not depend on it.
func (k *keyer) worldKey(s *State) Key {
	k.world(s)
	return k.sum()
}

func (k *keyer) sum() Key {
	full := sha256.Sum256(k.buf)
	return Key(full[:16])
}

func (k *keyer) world(s *State) {
	k.buf, k.names, k.now = k.buf[:0], k.names[:0], s.Now
	k.objects(&s.Objects)
	k.bools(s.Metal.On, s.Metal.Registered, s.Metal.Heard, s.Terminating, s.Ghost.Stripped, s.Ghost.Unseen, s.Ghost.Misread)
	k.word(string(s.Said))
	k.time(s.Braked)
	k.len(len(s.Ghost.Startups))
	for _, uid := range s.Ghost.Startups {
		k.name(string(uid))
	}
	k.bools(s.Cache != nil, s.Leader != nil)
	if s.Cache != nil {
		k.objects(s.Cache)
		k.versions(s, s.Cache)
	}
	if s.Leader != nil {
		k.leader(s)
	}
}

func (k *keyer) objects(o *Objects) {
	k.bools(o.Slot != nil, o.KubeNode != nil, o.Group != nil)
	if o.Slot != nil {
		k.slot(o.Slot)
	}
	k.len(len(o.Claims))
	for _, c := range o.Claims {
		k.claim(c)
	}
	k.len(len(o.Jobs))
	for i := range o.Jobs {
		k.job(&o.Jobs[i])
	}
	if o.KubeNode != nil {
		k.kubeNode(o.KubeNode)
		for _, c := range o.Claims {
			k.bools(reportedSince(o.KubeNode, c.Status.Jobs))
		}
	}
	k.len(len(o.Pods))
	for _, pod := range o.Pods {
		k.bools(pod.Labels[stubborn] != "")
	}
}

func (k *keyer) len(n int) { k.buf = append(k.buf, byte(n)) }

func (k *keyer) bools(all ...bool) {
	for _, b := range all {
		if b {
			k.buf = append(k.buf, 1)
		} else {
			k.buf = append(k.buf, 0)
		}
	}
}

// word is one of few fixed words.
func (k *keyer) word(text string) {
	k.buf = append(k.buf, byte(len(text)))
	k.buf = append(k.buf, text...)
}

// name is a generated name or uid, by the order of first mention.
func (k *keyer) name(text string) {
	if text == "" {
		k.buf = append(k.buf, 0xff)
		return
	}
	for i, known := range k.names {
		if known == text {
			k.buf = append(k.buf, byte(i))
			return
		}
	}
	k.names = append(k.names, text)
	k.buf = append(k.buf, byte(len(k.names)-1))
}

// time is an age, negative for what is to come.
func (k *keyer) time(t time.Time) {
	if t.IsZero() {
		k.buf = append(k.buf, 0xff)
		return
	}
	age := min(k.now.Sub(t), oldest)
	k.buf = binary.LittleEndian.AppendUint32(k.buf, uint32(int32(age/time.Second)))
}

func (k *keyer) at(t *metav1.Time) {
	if t == nil {
		k.buf = append(k.buf, 0xff)
		return
	}
	k.time(t.Time)
}

// clocked are the conditions whose transition time something is counted from.
var clocked = []string{v2.ConditionRegistered, v2.ConditionMachineObservedOff, v2.ConditionDrained, v2.ConditionHeld,
	v2.ConditionMarkedForDeletionByCA, v2.ConditionPowerConflict}

func (k *keyer) conditions(conditions []metav1.Condition, generation int64, all bool) {
	k.len(len(conditions))
	for i := range conditions {
		k.bools(conditions[i].ObservedGeneration == generation)
		k.word(conditions[i].Type)
		k.word(string(conditions[i].Status))
		k.word(conditions[i].Reason)
		if all || slices.Contains(clocked, conditions[i].Type) {
			k.time(conditions[i].LastTransitionTime.Time)
		}
	}
}

// records of startup Jobs that have ended count for what they say and not for when, unless all times matter.
func (k *keyer) records(records []v2.JobRecord, all bool) {
	k.len(len(records))
	for i := range records {
		record := &records[i]
		k.word(string(record.Operation))
		k.len(int(record.N))
		k.name(record.Name)
		k.name(string(record.UID))
		k.word(string(record.Outcome))
		k.bools(record.StartedAt != nil)
		if all || record.Outcome == "" {
			k.at(record.CreatedAt)
		}
		if all || record.Operation == v2.OperationShutdown {
			k.at(record.StartedAt)
			k.at(record.FinishedAt)
		}
	}
}

func (k *keyer) end(end *v2.ClaimEnd) {
	k.bools(end != nil)
	if end != nil {
		k.word(string(end.Call))
		k.bools(end.By == "deletion of slot "+machine)
	}
}

func (k *keyer) claim(c *v2.NodeClaim) {
	k.name(c.Name)
	k.name(string(c.UID))
	k.time(c.CreationTimestamp.Time)
	k.bools(c.DeletionTimestamp != nil, facts.HasFinalizer(c), len(c.OwnerReferences) > 0, c.Status.CreatedBy != nil,
		c.Generation == c.Status.ObservedGeneration)
	k.word(string(c.Spec.Request.Call))
	k.at(c.Spec.RequestedAt)
	k.at(c.Spec.DeadlineAt)
	s := &c.Status
	k.word(string(s.Phase))
	k.word(string(s.Reason))
	k.len(int(s.Attempt))
	k.len(int(s.ShutdownAttempts))
	k.at(s.LastShutdownAttemptAt)
	k.end(s.EndedBy)
	k.at(s.FinishedAt)
	k.bools(s.NodeName != "", s.ProviderID != "", s.ReadyAt != nil)
	// A boot without a deadline is stuck when nothing of it has changed for long: then every time counts.
	stuck := s.Phase == v2.ClaimBooting && c.Spec.DeadlineAt == nil
	k.records(s.Jobs, stuck)
	k.conditions(s.Conditions, c.Generation, stuck)
}

func (k *keyer) slot(n *v2.Node) {
	k.name(string(n.UID))
	_, held := n.Annotations[v2.AnnotationHold]
	k.bools(n.DeletionTimestamp != nil, len(n.Finalizers) > 0, held, n.Generation == n.Status.ObservedGeneration)
	s := &n.Status
	k.word(string(s.Phase))
	k.word(string(s.PowerState))
	k.word(string(s.PowerSource))
	k.word(string(s.Health))
	k.at(s.PowerStateSince)
	k.len(int(s.Episode))
	k.bools(s.LastClaim != nil, s.Unclaimed != nil, s.ProviderID != "")
	if d := s.LastClaim; d != nil {
		k.name(d.Name)
		k.word(string(d.Phase))
		k.len(int(d.Attempt))
		k.word(string(d.Reason))
		k.end(d.EndedBy)
		k.at(d.RequestedAt)
		k.bools(d.ReadyAt != nil)
		k.at(d.FinishedAt)
	}
	if u := s.Unclaimed; u != nil {
		k.at(&u.Since)
		k.at(u.DrainingSince)
		k.len(int(u.ShutdownAttempts))
		k.at(u.LastShutdownAttemptAt)
		k.records(u.Jobs, false)
	}
	k.bools(s.LastStartupTime != nil, s.LastShutdownTime != nil, s.PowerReading != nil)
	if p := s.PowerReading; p != nil {
		k.word(string(p.State))
		k.at(&p.Since)
		k.at(&p.ObservedAt)
	}
	k.conditions(s.Conditions, n.Generation, false)
}

func (k *keyer) job(j *slot.Job) {
	k.name(j.Name)
	k.name(string(j.UID))
	k.name(string(controller(j.Job)))
	k.word(operation(j))
	k.bools(j.DeletionTimestamp != nil, j.Spec.TTLSecondsAfterFinished != nil, len(j.Pods) > 0, finished(j))
	if finished(j) {
		k.word(string(j.Status.Conditions[0].Type))
		k.word(j.Status.Conditions[0].Reason)
		k.time(j.Status.Conditions[0].LastTransitionTime.Time)
	}
}

func (k *keyer) kubeNode(n *corev1.Node) {
	k.name(string(n.UID))
	_, cordoned := n.Annotations[v2.AnnotationCordoned]
	_, scaleDownDisabled := n.Annotations[facts.AnnotationScaleDownDisabled]
	k.bools(n.Spec.Unschedulable, cordoned, scaleDownDisabled, n.Labels[v2.LabelNode] != "", n.Spec.ProviderID != "")
	if ready := facts.ReadyCondition(n); ready != nil {
		k.word(string(ready.Status))
	}
	k.len(len(n.Spec.Taints))
	for _, taint := range n.Spec.Taints {
		k.word(taint.Key)
	}
}

// versions tells which observed objects are still the ones that the API server keeps: the others are refused.
func (k *keyer) versions(s *State, observed *Objects) {
	if observed.Slot != nil {
		k.bools(s.Slot != nil && same(observed.Slot, s.Slot) == nil)
	}
	for _, c := range observed.Claims {
		live := s.claim(c.Name)
		k.bools(live != nil && same(c, live) == nil)
	}
	if observed.KubeNode != nil {
		k.bools(s.KubeNode != nil && same(observed.KubeNode, s.KubeNode) == nil)
	}
}

// leader is a paused commit: what it was decided on, how far it came, and which of its next writes will land.
func (k *keyer) leader(s *State) {
	c := s.Leader
	k.time(c.In.Now)
	k.len(c.Done)
	observed := Objects{Slot: c.In.Slot, Claims: c.In.Claims, Jobs: c.In.Jobs, KubeNode: c.In.KubeNode, Group: c.In.Group}
	k.objects(&observed)
	current := Objects{Claims: make([]*v2.NodeClaim, 0, len(c.In.Claims))}
	if observed.Slot != nil {
		current.Slot = latest(c, observed.Slot)
	}
	for _, claim := range observed.Claims {
		current.Claims = append(current.Claims, latest(c, claim))
	}
	if observed.KubeNode != nil {
		current.KubeNode = latest(c, observed.KubeNode)
	}
	k.versions(s, &current)
}
