package quiesce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
)

// Options say what is taken out of use.
type Options struct {
	// Namespace is that of the slots and claims, Release that of the Deployments; empty: the same.
	Namespace, Release string
	// Autoscaler and Manager are the names of the two Deployments. One that does not exist is nobody to stop.
	Autoscaler, Manager string
	// Wait is how long machines that are being switched off are waited for while the manager still runs.
	Wait time.Duration
	// DryRun only says what would become of the machines.
	DryRun bool
}

const (
	// every is the pause between two looks.
	every = 2 * time.Second
	// stopWithin is how long pods that were told to stop may take. Twice that and the wait stay below the 5m that Helm waits.
	stopWithin = 75 * time.Second
	// rounds bounds how often what changed meanwhile is tried again.
	rounds = 5
)

// Quiescer works on one cluster.
type Quiescer struct {
	Options
	client  client.Client
	clients kubernetes.Interface
	writer  *kube.Writer
	clock   clock.Clock
	out     io.Writer
}

// New connects to a cluster and says on out what it does.
func New(reach *rest.Config, o Options, clock clock.Clock, out io.Writer) (*Quiescer, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(reach, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reaching the API server at %s: %w", reach.Host, err)
	}
	clients, err := kubernetes.NewForConfig(reach)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server at %s: %w", reach.Host, err)
	}
	if o.Release == "" {
		o.Release = o.Namespace
	}
	return &Quiescer{Options: o, client: c, clients: clients, writer: kube.NewWriter(c, kube.NewLive(c)), clock: clock, out: out}, nil
}

// Run takes the operator out of use. It switches no machine, and can be run again after whatever stopped it.
func (q *Quiescer) Run(ctx context.Context) error {
	if q.DryRun {
		_, err := q.judge(ctx, true)
		return err
	}
	if err := q.stop(ctx, q.Autoscaler); err != nil {
		return err
	}
	if err := q.letFinish(ctx); err != nil {
		return err
	}
	if err := q.stop(ctx, q.Manager); err != nil {
		return err
	}
	fates, err := q.judge(ctx, true)
	if err != nil {
		return err
	}
	if err := q.uncordon(ctx, fates); err != nil {
		return err
	}
	if err := q.letGo(ctx); err != nil {
		return err
	}
	return errors.Join(q.undone(ctx, q.Autoscaler), q.undone(ctx, q.Manager))
}

func (q *Quiescer) say(format string, args ...any) { _, _ = fmt.Fprintf(q.out, format+"\n", args...) }

// scale reads how many pods a Deployment wants. Where none is named, or it does not exist, there is nobody to stop.
func (q *Quiescer) scale(ctx context.Context, name string) (scale *autoscalingv1.Scale, there bool, err error) {
	if name == "" {
		return nil, false, nil
	}
	scale, err = q.clients.AppsV1().Deployments(q.Release).GetScale(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the scale of deployment %s: %w", name, err)
	}
	return scale, true, nil
}

// stop scales a Deployment to nothing and waits until its pods are gone.
func (q *Quiescer) stop(ctx context.Context, name string) error {
	scale, there, err := q.scale(ctx, name)
	if err != nil || !there {
		return err
	}
	if scale.Spec.Replicas > 0 {
		scale.Spec.Replicas, scale.ResourceVersion = 0, "" // whatever else has changed of it meanwhile
		if _, err := q.clients.AppsV1().Deployments(q.Release).UpdateScale(ctx, name, scale, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("stopping deployment %s: %w", name, err)
		}
		q.say("deployment %s is told to stop", name)
	}
	left := 0
	gone, err := q.within(ctx, stopWithin, func(ctx context.Context) (bool, error) {
		if err := q.undone(ctx, name); err != nil {
			return false, err
		}
		pods, err := q.clients.CoreV1().Pods(q.Release).List(ctx, metav1.ListOptions{LabelSelector: scale.Status.Selector})
		if err != nil {
			return false, fmt.Errorf("listing the pods of deployment %s: %w", name, err)
		}
		left = len(pods.Items)
		return left == 0, nil
	})
	if err == nil && !gone {
		err = fmt.Errorf("deployment %s still has %d pods after %s: whatever they are, they must stop first", name, left, stopWithin)
	}
	return err
}

// undone says that somebody started a Deployment again which was stopped, as a tool does that keeps what is in Git.
func (q *Quiescer) undone(ctx context.Context, name string) error {
	scale, there, err := q.scale(ctx, name)
	if err != nil || !there || scale.Spec.Replicas == 0 {
		return err
	}
	return fmt.Errorf("deployment %s was stopped, and somebody has started it again: "+
		"pause what keeps it running, as the sync of Argo CD or Flux does, and run this again", name)
}

// letFinish waits for machines that are on their way down, for as long as somebody brings them there.
func (q *Quiescer) letFinish(ctx context.Context) error {
	scale, there, err := q.scale(ctx, q.Manager)
	if err != nil || !there || scale.Spec.Replicas == 0 {
		return err
	}
	said := ""
	done, err := q.within(ctx, q.Wait, func(ctx context.Context) (bool, error) {
		fates, err := q.judge(ctx, false)
		if err != nil {
			return false, err
		}
		var names []string
		for _, fate := range fates {
			if fate.Underway {
				names = append(names, fate.Slot)
			}
		}
		if line := strings.Join(names, ", "); line != "" && line != said {
			said = line
			q.say("waiting for machines that are being switched off: %s", line)
		}
		return len(names) == 0, nil
	})
	if err == nil && !done {
		q.say("they did not get there within %s", q.Wait)
	}
	return err
}

// within asks until the answer is yes, or the time is over.
func (q *Quiescer) within(ctx context.Context, span time.Duration, ask func(context.Context) (bool, error)) (bool, error) {
	deadline := q.clock.Now().Add(span)
	for {
		yes, err := ask(ctx)
		if yes || err != nil {
			return yes, err
		}
		left := deadline.Sub(q.clock.Now())
		if left <= 0 {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-q.clock.After(min(every, left)):
		}
	}
}

// pool reads what there is. Kinds that are not served have no objects.
func (q *Quiescer) pool(ctx context.Context) (Pool, error) {
	var slots v2.NodeList
	var claims v2.NodeClaimList
	var kubeNodes corev1.NodeList
	for _, list := range []client.ObjectList{&slots, &claims} {
		if err := q.client.List(ctx, list, client.InNamespace(q.Namespace)); err != nil && !meta.IsNoMatchError(err) {
			return Pool{}, fmt.Errorf("listing our objects in namespace %s: %w", q.Namespace, err)
		}
	}
	if err := q.client.List(ctx, &kubeNodes); err != nil {
		return Pool{}, fmt.Errorf("listing kubeNodes: %w", err)
	}
	return Pool{pointers(slots.Items), pointers(claims.Items), pointers(kubeNodes.Items)}, nil
}

func pointers[T any](items []T) []*T {
	var all []*T
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}

func (q *Quiescer) judge(ctx context.Context, aloud bool) ([]Fate, error) {
	pool, err := q.pool(ctx)
	if err != nil {
		return nil, err
	}
	fates := Judge(pool)
	for _, fate := range fates {
		if aloud {
			q.say("machine of slot %s: %s", fate.Slot, fate.Says)
		}
	}
	return fates, nil
}

// uncordon gives kubeNodes back to the scheduler that nobody will switch off.
func (q *Quiescer) uncordon(ctx context.Context, fates []Fate) error {
	return q.again(ctx, func(ctx context.Context) error {
		pool, err := q.pool(ctx)
		if err != nil {
			return err
		}
		var faults []error
		for _, slot := range pool.Slots {
			kubeNode := kubeNodeOf(slot, pool.KubeNodes)
			wanted := slices.ContainsFunc(fates, func(f Fate) bool { return f.Uncordon && f.Slot == slot.Name })
			if !wanted || kubeNode == nil || kubeNode.Annotations[v2.AnnotationCordoned] == "" {
				continue
			}
			after := kubeNode.DeepCopy()
			after.Spec.Unschedulable = false
			delete(after.Annotations, v2.AnnotationCordoned)
			_, err := q.writer.PatchKubeNode(ctx, kubeNode, after)
			faults = append(faults, err)
		}
		return errors.Join(faults...)
	})
}

// letGo takes our finalizers off. Objects that were only waiting for that are gone with it.
func (q *Quiescer) letGo(ctx context.Context) error {
	released := 0
	err := q.again(ctx, func(ctx context.Context) error {
		pool, err := q.pool(ctx)
		if err != nil {
			return err
		}
		var faults []error
		count := func(err error) {
			if faults = append(faults, err); err == nil {
				released++
			}
		}
		for _, claim := range pool.Claims {
			if slices.Contains(claim.Finalizers, v2.FinalizerNodeClaim) {
				_, err := q.writer.DropClaimFinalizer(ctx, claim)
				count(err)
			}
		}
		for _, slot := range pool.Slots {
			if slices.Contains(slot.Finalizers, v2.FinalizerSlot) {
				_, err := q.writer.DropSlotFinalizer(ctx, slot)
				count(err)
			}
		}
		return errors.Join(faults...)
	})
	if err == nil {
		q.say("%d claims and slots are released; none of them can hold up a deletion any more", released)
	}
	return err
}

// again tries again what was decided on an outdated reading.
func (q *Quiescer) again(ctx context.Context, do func(context.Context) error) error {
	for round := 1; ; round++ {
		err := do(ctx)
		if err == nil || round == rounds || !outdated(err) {
			return err
		}
	}
}

// outdated is whether all that was refused was refused for that reason.
func outdated(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !outdated(err) })
	}
	return kube.DecideAgain(err)
}
