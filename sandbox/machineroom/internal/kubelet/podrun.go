package kubelet

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// retryEvery is the pause after a write that the API server did not take.
	retryEvery = 200 * time.Millisecond
	// prepareEvery is the pause before a missing Secret or ConfigMap is looked for again.
	prepareEvery = time.Second
	// firstBackOff doubles up to lastBackOff between the restarts of a container that keeps ending.
	firstBackOff, lastBackOff = time.Second, 30 * time.Second
)

// podRun is the life of one pod on this node. Its main goroutine is the only writer of the pod's status.
type podRun struct {
	k   *Kubelet
	pod *corev1.Pod
	dir string

	stop, gone, done   chan struct{}
	stopOnce, goneOnce sync.Once
	grace              atomic.Int64

	changed chan struct{}
	mu      sync.Mutex
	status  corev1.PodStatus
}

func newPodRun(k *Kubelet, pod *corev1.Pod) *podRun {
	return &podRun{
		k: k, pod: pod, dir: filepath.Join(k.cfg.Dir, string(pod.UID)),
		stop: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}, 1),
		status:  firstStatus(pod, k.podIP(pod)),
	}
}

// askToGo is the pod's deletion: containers get the grace to end, then the object is removed. The first grace holds.
func (r *podRun) askToGo(grace time.Duration) {
	r.stopOnce.Do(func() {
		r.grace.Store(int64(grace))
		close(r.stop)
	})
}

// forget is told that the object is gone: nobody is left to write to, so everything ends at once.
func (r *podRun) forget() { r.goneOnce.Do(func() { close(r.gone) }) }

func (r *podRun) main(ctx context.Context) {
	defer close(r.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	// What cannot be removed now goes with the room's folder.
	defer func() { _ = os.RemoveAll(r.dir) }()

	switch {
	case terminal(r.pod.Status.Phase):
	case ranBefore(r.pod) && r.pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		// A container that the last boot took with it is not run a second time.
		r.update(func(status *corev1.PodStatus) { loseContainers(status) })
		r.publishUntilTaken(ctx)
	default:
		r.live(ctx)
	}
	select {
	case <-ctx.Done():
	case <-r.stop:
		r.deleteObject(ctx)
	}
}

// live runs the containers to their end and keeps the status told.
func (r *podRun) live(ctx context.Context) {
	work, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.runAll(ctx, work)
	}()

	deadline, stop, expired := r.deadline(), r.stop, false
	var retry <-chan time.Time
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-stop:
			stop = nil
			end()
		case <-deadline:
			expired = true
			end()
		case <-r.changed:
			retry = r.publishOrRetry(ctx)
		case <-retry:
			retry = r.publishOrRetry(ctx)
		}
	}
	if ctx.Err() != nil {
		return
	}
	r.update(func(status *corev1.PodStatus) { conclude(status, expired) })
	r.publishUntilTaken(ctx)
}

// deadline fires when the pod's own activeDeadlineSeconds are over, counted from its first start on this node.
func (r *podRun) deadline() <-chan time.Time {
	if r.pod.Spec.ActiveDeadlineSeconds == nil {
		return nil
	}
	length := time.Duration(*r.pod.Spec.ActiveDeadlineSeconds) * time.Second
	return time.After(time.Until(r.status.StartTime.Add(length)))
}

// runAll runs the init containers one after the other, then the others side by side, until all of them ended for good.
func (r *podRun) runAll(ctx, work context.Context) {
	launches, ok := r.prepare(work)
	if !ok {
		return
	}
	for i := range r.pod.Spec.InitContainers {
		c := &r.pod.Spec.InitContainers[i]
		state := func(status *corev1.PodStatus) *corev1.ContainerStatus { return &status.InitContainerStatuses[i] }
		// A sleeper would never end, and what an image does by itself is not known here: it counts as done.
		if launches[c.Name] == nil {
			r.update(func(status *corev1.PodStatus) {
				begun(state(status))
				over(state(status), exit{reason: reasonCompleted})
			})
			continue
		}
		if !r.runContainer(ctx, work, launches[c.Name], state, initPolicy(r.pod.Spec.RestartPolicy)) {
			return
		}
	}
	var all sync.WaitGroup
	for i := range r.pod.Spec.Containers {
		state := func(status *corev1.PodStatus) *corev1.ContainerStatus { return &status.ContainerStatuses[i] }
		all.Go(func() {
			r.runContainer(ctx, work, launches[r.pod.Spec.Containers[i].Name], state, r.pod.Spec.RestartPolicy)
		})
	}
	all.Wait()
}

// initPolicy: an init container that succeeded is done, whatever the pod's policy.
func initPolicy(policy corev1.RestartPolicy) corev1.RestartPolicy {
	if policy == corev1.RestartPolicyAlways {
		return corev1.RestartPolicyOnFailure
	}
	return policy
}

// prepare resolves environments and volumes, for as long as it takes for what they name to exist.
func (r *podRun) prepare(work context.Context) (map[string]*launch, bool) {
	if !r.k.cfg.Execute {
		return nil, work.Err() == nil
	}
	told := ""
	for {
		launches, reason, err := r.prepareOnce(work)
		if err == nil {
			return launches, true
		}
		message := err.Error()
		if reason == reasonCreating {
			// Of a volume that cannot be mounted the status of a pod says nothing; a kubelet's event does.
			if message = ""; told != err.Error() {
				told = err.Error()
				r.warn(work, "FailedMount", told)
			}
		}
		r.update(func(status *corev1.PodStatus) { waiting(status, reason, message) })
		if !pause(work, prepareEvery) {
			return nil, false
		}
	}
}

// runContainer runs one container, again and again as policy says, and returns whether it ended well for good.
func (r *podRun) runContainer(ctx, work context.Context, l *launch,
	state func(*corev1.PodStatus) *corev1.ContainerStatus, policy corev1.RestartPolicy) bool {
	for backOff := firstBackOff; ; backOff = min(2*backOff, lastBackOff) {
		if work.Err() != nil {
			return false
		}
		how := r.runOnce(ctx, work, l, state)
		if ctx.Err() != nil {
			return false
		}
		r.update(func(status *corev1.PodStatus) { over(state(status), how) })
		again := policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && how.code != 0
		if !again || work.Err() != nil {
			return how.code == 0
		}
		r.update(func(status *corev1.PodStatus) { backingOff(state(status)) })
		if !pause(work, backOff) {
			return false
		}
	}
}

func (r *podRun) runOnce(ctx, work context.Context, l *launch,
	state func(*corev1.PodStatus) *corev1.ContainerStatus) exit {
	var container runner = &sleeper{}
	if l != nil {
		container = &process{launch: *l}
	}
	if err := container.start(ctx); err != nil {
		return exit{code: exitNotStarted, reason: reasonStart, message: err.Error()}
	}
	r.update(func(status *corev1.PodStatus) { begun(state(status)) })
	return container.wait(work.Done(), func() time.Duration { return time.Duration(r.grace.Load()) })
}

// update changes the status in hand and has it published.
func (r *podRun) update(change func(*corev1.PodStatus)) {
	r.mu.Lock()
	change(&r.status)
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}
