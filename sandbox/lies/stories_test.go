package lies_test

import (
	"context"
	"sync"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/sandbox/house"
)

// stories are what became of each machine and its claim, which bear the same name, as the API server tells it: so many lives
// would keep it busy by asking.
type stories struct {
	mu   sync.Mutex
	told map[string]story
}

// story is what was told of one.
type story struct {
	// wasReady is whether the claim ever was.
	wasReady bool
	// claim is how it was seen last, at the latest on its deletion, and slot is the machine's; nil: not yet.
	claim *v2.NodeClaim
	slot  *v2.Node
}

// follow listens to what becomes of a home's slots and claims.
func follow(t *testing.T, h *house.Home) *stories {
	t.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	news, err := cache.New(h.ControlPlane.Config(), cache.Options{
		Scheme: scheme, DefaultNamespaces: map[string]cache.Config{h.Namespace: {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stories{told: map[string]story{}}
	for _, kind := range []client.Object{&v2.NodeClaim{}, &v2.Node{}} {
		informer, err := news.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc: s.hear, UpdateFunc: func(_, object any) { s.hear(object) }, DeleteFunc: s.last,
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = news.Start(ctx) // it ends without an error when it is told to
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s
}

func (s *stories) hear(object any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch object := object.(type) {
	case *v2.Node:
		so := s.told[object.Name]
		so.slot = object
		s.told[object.Name] = so
	case *v2.NodeClaim:
		so := s.told[object.Name]
		so.claim = object
		so.wasReady = so.wasReady || so.is(v2.ClaimReady) || object.Status.ReadyAt != nil
		s.told[object.Name] = so
	}
}

// last hears of a claim for the last time. It is told with the finalizers whose removal ended it.
func (s *stories) last(object any) {
	if unseen, so := object.(toolscache.DeletedFinalStateUnknown); so {
		object = unseen.Obj
	}
	if claim, so := object.(*v2.NodeClaim); so {
		claim = claim.DeepCopy()
		claim.Finalizers = nil
		s.hear(claim)
	}
}

// of is the story of a machine so far.
func (s *stories) of(machine string) story {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[machine]
}
