package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// yard is this project's Ground. No controller runs: it writes on claims, slots and kubeNodes what the controller, a
// machine and its kubelet would have written there.
type yard struct {
	house
	mu    sync.Mutex
	pools int
	// own are the groups whose kubelets make their providerIDs themselves.
	own map[string]bool
}

func newYard(h house) *yard { return &yard{house: h, own: map[string]bool{}} }

// Pool makes a group and its slots.
func (y *yard) Pool(ctx context.Context, want Pool) (string, error) {
	y.mu.Lock()
	y.pools++
	name := fmt.Sprintf("pool-%d", y.pools)
	y.own[name] = want.OwnIDs
	y.mu.Unlock()
	group := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: y.namespace}, Spec: v2.GroupSpec{MinSize: want.MinSize}}
	if want.Unneeded {
		group.Spec.ScaleDownUnneededTime = &metav1.Duration{Duration: overriddenUnneeded}
	}
	create := y.Client.Create
	if want.Broken {
		group.Spec.ScaleDownUtilizationThreshold = "half"
		create = y.createUnruled
	}
	if err := create(ctx, group); err != nil {
		return "", err
	}
	// KubeNodes are the whole cluster's; the namespace's own suffix keeps those of one run from another's.
	suffix := y.namespace[strings.LastIndexByte(y.namespace, '-')+1:]
	for i := range want.Machines {
		if err := y.Client.Create(ctx, newSlot(y.namespace, name, fmt.Sprintf("%s-%s-%d", name, suffix, i), want)); err != nil {
			return "", err
		}
	}
	return name, nil
}

// createUnruled creates a group that today's rules refuse, as one was that is older than they are.
func (y *yard) createUnruled(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	const name, validations = "groups.infra.homecluster.dev", "x-kubernetes-validations"
	threshold := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "scaleDownUtilizationThreshold"}
	var rules any
	rule := func(edit func(field map[string]any)) error {
		return retryConflict(func() error {
			definition := &unstructured.Unstructured{}
			definition.SetAPIVersion("apiextensions.k8s.io/v1")
			definition.SetKind("CustomResourceDefinition")
			if err := y.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
				return err
			}
			versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
			if err != nil {
				return err
			}
			version := versions[0].(map[string]any)
			field, _, err := unstructured.NestedMap(version, threshold...)
			if err != nil {
				return err
			}
			edit(field)
			if err := unstructured.SetNestedMap(version, field, threshold...); err != nil {
				return err
			}
			if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
				return err
			}
			return y.Update(ctx, definition)
		})
	}
	if err := rule(func(field map[string]any) { rules = field[validations]; delete(field, validations) }); err != nil {
		return fmt.Errorf("lifting the rule: %w", err)
	}
	// The API server follows its definitions a moment later.
	err := retry.OnError(wait.Backoff{Steps: 100, Duration: 100 * time.Millisecond}, apierrors.IsInvalid, func() error {
		return y.Client.Create(ctx, object)
	})
	return errors.Join(err, rule(func(field map[string]any) { field[validations] = rules }))
}

func newSlot(namespace, group, name string, want Pool) *v2.Node {
	power := v2.MinimalPodSpec{Image: "switch"}
	slot := &v2.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{v2.LabelGroup: group}},
		Spec: v2.NodeSpec{
			KubernetesNodeName: name, StartupPodSpec: power, ShutdownPodSpec: power,
			NodeCapacity: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
		},
	}
	if want.Accelerated {
		slot.Spec.NodeCapacity[accelerator] = resource.MustParse("1")
	}
	if want.Unsized {
		slot.Spec.NodeCapacity = nil
	}
	if want.Hourly != "" {
		slot.Spec.Pricing = &v2.Pricing{HourlyRate: want.Hourly, PodRate: "0.01"}
	}
	return slot
}

// Hold suspends the slot.
func (y *yard) Hold(ctx context.Context, _, instance string) error {
	return y.change(ctx, y.slotNamed(instance), func(slot *v2.Node) { slot.Spec.Suspend = true })
}

// Commit moves the claim to booting, with the finalizer.
func (y *yard) Commit(ctx context.Context, _, instance string) error {
	return y.move(ctx, y.slotNamed(instance), v2.ClaimBooting)
}

// Register makes the kubeNode of a boot, Ready.
func (y *yard) Register(ctx context.Context, group, instance string) (*pb.ExternalGrpcNode, error) {
	name := y.slotNamed(instance)
	id := v2.ProviderIDPrefix + name
	if y.own[group] {
		id = "k3s://" + name
	}
	kubeNode := &corev1.Node{}
	err := y.Get(ctx, client.ObjectKey{Name: name}, kubeNode)
	if apierrors.IsNotFound(err) {
		kubeNode = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, v2.LabelNode: name}},
			Spec:       corev1.NodeSpec{ProviderID: id},
		}
		if err = y.Client.Create(ctx, kubeNode); err == nil {
			kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
			err = retryConflict(func() error {
				fresh := &corev1.Node{}
				if err := y.Get(ctx, client.ObjectKey{Name: name}, fresh); err != nil {
					return err
				}
				fresh.Status.Conditions = kubeNode.Status.Conditions
				return y.Status().Update(ctx, fresh)
			})
		}
	}
	return &pb.ExternalGrpcNode{Name: kubeNode.Name, ProviderID: kubeNode.Spec.ProviderID, Labels: kubeNode.Labels}, err
}

// Ready ends the boot.
func (y *yard) Ready(ctx context.Context, group, instance string) (*pb.ExternalGrpcNode, error) {
	node, err := y.Register(ctx, group, instance)
	if err != nil {
		return nil, err
	}
	return node, y.move(ctx, y.slotNamed(instance), v2.ClaimReady)
}

// Fail ends the claim and tells the slot, as the controller does once the machine is off.
func (y *yard) Fail(ctx context.Context, _, instance string) error {
	name := y.slotNamed(instance)
	// A boot committed first: the slot counts its episode.
	if err := y.move(ctx, name, v2.ClaimBooting); err != nil {
		return err
	}
	slot := &v2.Node{}
	if err := y.Get(ctx, client.ObjectKey{Namespace: y.namespace, Name: name}, slot); err != nil {
		return err
	}
	attempt := int32(1)
	if slot.Status.LastClaim != nil {
		attempt = slot.Status.LastClaim.Attempt + 1
	}
	claim, err := y.live(ctx, name)
	if err != nil {
		return err
	}
	now := metav1.Now()
	if err := y.end(ctx, claim, func(c *v2.NodeClaim) {
		c.Status.Phase, c.Status.Reason, c.Status.FinishedAt, c.Status.Attempt = v2.ClaimFailed, v2.ReasonDeadlineExceeded, &now, attempt
	}); err != nil {
		return err
	}
	return y.changeStatus(ctx, name, func(slot *v2.Node) {
		slot.Status.LastClaim = &v2.ClaimDigest{
			Name: claim.Name, Slot: name, Phase: v2.ClaimFailed, Attempt: attempt, Request: claim.Spec.Request,
			Reason: v2.ReasonDeadlineExceeded, RequestedAt: claim.Spec.RequestedAt, FinishedAt: &now,
		}
	})
}

// Off removes what a reversal removes: the kubeNode, and the finalizer of the claim.
func (y *yard) Off(ctx context.Context, _, instance string) error {
	name := y.slotNamed(instance)
	err := y.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	claim, err := y.live(ctx, name)
	if err != nil {
		return err
	}
	return retryConflict(func() error {
		if err := y.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return client.IgnoreNotFound(err)
		}
		claim.Finalizers = nil
		return client.IgnoreNotFound(y.Update(ctx, claim))
	})
}

// slotNamed is the slot behind an instance: ids end with its name, whoever made them.
func (y *yard) slotNamed(instance string) string {
	return instance[strings.LastIndexByte(instance, '/')+1:]
}

// live is the newest live claim of a slot.
func (y *yard) live(ctx context.Context, slot string) (*v2.NodeClaim, error) {
	var list v2.NodeClaimList
	if err := y.List(ctx, &list, client.InNamespace(y.namespace)); err != nil {
		return nil, err
	}
	var of []*v2.NodeClaim
	for i := range list.Items {
		if list.Items[i].Spec.SlotRef.Name == slot {
			of = append(of, &list.Items[i])
		}
	}
	if newest := facts.NewestLive(of); newest != nil {
		return newest, nil
	}
	return nil, fmt.Errorf("%w: slot %s, among %d", errNoLiveClaim, slot, len(of))
}

// errNoLiveClaim is a slot on which nothing lives.
var errNoLiveClaim = errors.New("no live claim")

// move brings the live claim of a slot to booting or ready, and its episode to the slot.
func (y *yard) move(ctx context.Context, slot string, phase v2.ClaimPhase) error {
	claim, err := y.live(ctx, slot)
	if err != nil {
		return err
	}
	if err := retryConflict(func() error {
		if err := y.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		committed(phase)(claim)
		return y.Update(ctx, claim)
	}); err != nil {
		return err
	}
	if err := y.updateStatus(ctx, claim, func(c *v2.NodeClaim) {
		c.Status.Phase = phase
		if phase == v2.ClaimReady && c.Status.ReadyAt == nil {
			now := metav1.Now()
			c.Status.ReadyAt = &now
		}
	}); err != nil {
		return err
	}
	return y.changeStatus(ctx, slot, func(slot *v2.Node) { slot.Status.Episode = max(slot.Status.Episode, claim.Spec.Episode) })
}

// end writes a terminal status and lets the claim go as far as its finalizer is concerned.
func (y *yard) end(ctx context.Context, claim *v2.NodeClaim, edit func(*v2.NodeClaim)) error {
	if err := y.updateStatus(ctx, claim, edit); err != nil {
		return err
	}
	return retryConflict(func() error {
		if err := y.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		claim.Finalizers = nil
		return y.Update(ctx, claim)
	})
}

func (y *yard) updateStatus(ctx context.Context, claim *v2.NodeClaim, edit func(*v2.NodeClaim)) error {
	return retryConflict(func() error {
		if err := y.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		edit(claim)
		return y.Status().Update(ctx, claim)
	})
}

func (y *yard) change(ctx context.Context, slot string, edit func(*v2.Node)) error {
	return retryConflict(func() error {
		object := &v2.Node{}
		if err := y.Get(ctx, client.ObjectKey{Namespace: y.namespace, Name: slot}, object); err != nil {
			return err
		}
		edit(object)
		return y.Update(ctx, object)
	})
}

func (y *yard) changeStatus(ctx context.Context, slot string, edit func(*v2.Node)) error {
	return retryConflict(func() error {
		object := &v2.Node{}
		if err := y.Get(ctx, client.ObjectKey{Namespace: y.namespace, Name: slot}, object); err != nil {
			return err
		}
		edit(object)
		return y.Status().Update(ctx, object)
	})
}

func retryConflict(do func() error) error { return retry.RetryOnConflict(retry.DefaultBackoff, do) }
