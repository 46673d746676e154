package kubelet

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// registerEvery is the pause between attempts to register while the API server does not answer.
	registerEvery = 200 * time.Millisecond
	// reportEvery bounds how old the heartbeat in an otherwise unchanged status gets, as a kubelet's does; the Lease
	// is the signal that counts.
	reportEvery = time.Minute
	// podResync looks at all pods even if no event asked for it.
	podResync = 5 * time.Second
)

// Kubelet is one node's agent for one boot.
type Kubelet struct {
	cfg  Config
	poke chan struct{}

	// lease and reported are touched by one loop each.
	lease    *coordinationv1.Lease
	reported time.Time
	ready    bool
	missing  bool

	pods sync.WaitGroup
	mu   sync.Mutex
	runs map[types.UID]*podRun
}

// New returns a Kubelet that does nothing before Run.
func New(cfg Config) *Kubelet {
	return &Kubelet{cfg: cfg, poke: make(chan struct{}, 1), runs: map[types.UID]*podRun{}}
}

// Poke says that a pod of this node may have changed. It never blocks.
func (k *Kubelet) Poke() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// Run registers the node and keeps it until ctx ends. When it returns, every process it started is gone and nothing
// more is written.
func (k *Kubelet) Run(ctx context.Context) {
	fresh, ok := k.register(ctx)
	if !ok {
		return
	}
	k.cfg.OnRegistered(fresh)

	var loops sync.WaitGroup
	loops.Go(func() { every(ctx, k.cfg.LeaseInterval, nil, k.renewLease) })
	loops.Go(func() { every(ctx, k.cfg.StatusInterval, nil, k.syncStatus) })
	loops.Go(func() { every(ctx, podResync, k.poke, k.syncPods) })
	loops.Wait()
	k.pods.Wait()
}

// every calls do at once, then at each interval or wake-up, until ctx ends.
func every(ctx context.Context, interval time.Duration, wake <-chan struct{}, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-wake:
		}
	}
}

// pause waits for d or for the end of ctx, and says whether ctx still holds.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// syncPods compares the pods bound to this node with those that run here: new ones are started, marked ones are
// asked to go, vanished ones are killed.
func (k *Kubelet) syncPods(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	bound := map[types.UID]bool{}
	for _, pod := range k.cfg.Pods() {
		bound[pod.UID] = true
		run := k.runs[pod.UID]
		if run == nil {
			run = newPodRun(k, pod)
			k.runs[pod.UID] = run
			k.pods.Go(func() { run.main(ctx) })
		}
		if pod.DeletionTimestamp != nil {
			run.askToGo(graceOf(pod))
		}
	}
	for uid, run := range k.runs {
		if !bound[uid] {
			run.forget()
			delete(k.runs, uid)
		}
	}
}

func graceOf(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}
