package replay

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	ctrlslot "homecluster.dev/autoscaler/internal/controller/slot"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

var (
	histories = flag.Int("replay.histories", 8, "how many random histories to replay")
	first     = flag.Uint64("replay.first", 1, "the seed of the first")
	seed      = flag.Uint64("replay.seed", 0, "replay only the history of that seed")
)

const (
	// modelled is the namespace of which the model's decisions speak.
	modelled = "power"
	// machine is the model's slot, and its kubeNode.
	machine = "worker-01"
	// alwaysOn is the kubeNode that runs the power Jobs.
	alwaysOn = "infra"
)

// TestMain runs a control plane without the controllers that would act on Jobs, kubeNodes and dependents by their own
// clock: here that is the history's to do.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	controlplane.Main(m, controlplane.Options{Controllers: []string{"namespace-controller", "serviceaccount-controller"}})
}

// home is one history on the API server.
type home struct {
	t         *testing.T
	client    client.Client
	namespace string
	metrics   *metrics.Metrics
	brake     *ctrlslot.Brake

	// now is the world as the last move left it, old what lagging caches hold, was the model's world.
	now, old *view
	was      *model.Objects
	paused   *paused
	slotUID  types.UID
	stamps   map[types.UID]stamp
	lines    []string
	acts     map[model.Act]int
}

// never are the kinds of things that the replayed histories lack.
var never = []model.Kind{model.PodsBound, model.Terminations}

func TestTheAPIServerLivesTheSameHistories(t *testing.T) {
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	config := cp.Config()
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	addAlwaysOn(t, c)
	from, n := *first, *histories
	if *seed != 0 {
		from, n = *seed, 1
	}
	acts := map[model.Act]int{}
	for i := range n {
		t.Run(fmt.Sprintf("seed %d", from+uint64(i)), func(t *testing.T) {
			for act, times := range replay(t, cp, c, from+uint64(i)) {
				acts[act] += times
			}
		})
	}
	t.Logf("%d moves of the world, %d passes, %d that died, %d on lagging caches, %d leaders paused, %d that went on",
		acts[model.Rest], acts[model.Pass], acts[model.Die], acts[model.PassLagging], acts[model.Pause], acts[model.GoOn])
	t.Logf("proved: differential replays on a real API server %d", n)
	t.Logf("proved: moves of them compared %d", acts[model.Rest]+acts[model.Pass]+acts[model.Die]+acts[model.PassLagging]+acts[model.Pause]+acts[model.GoOn])
}

func addAlwaysOn(t *testing.T, c client.Client) {
	t.Helper()
	kubeNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: alwaysOn}}
	if err := c.Create(t.Context(), kubeNode); err != nil {
		t.Fatal(err)
	}
	kubeNode.Spec.Taints = nil
	if err := c.Update(t.Context(), kubeNode); err != nil {
		t.Fatal(err)
	}
	kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(t.Context(), kubeNode); err != nil {
		t.Fatal(err)
	}
}

// replay plays the history of a seed in the model, with its rest and the life that is lived after it, and on the API server
// move by move.
func replay(t *testing.T, cp *controlplane.ControlPlane, c client.Client, seed uint64) map[model.Act]int {
	registered, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{
		t: t, client: c, namespace: cp.Namespace(t), metrics: registered, brake: &ctrlslot.Brake{},
		was: &model.Objects{}, stamps: map[types.UID]stamp{}, acts: map[model.Act]int{},
	}
	t.Cleanup(h.end)
	w := model.NewWorld()
	w.Never = never
	w.Watch = func(m *model.Transition) {
		h.lines = append(h.lines, w.Tell(m)...)
		h.follow(m)
	}
	h.now = h.look(time.Time{})
	if end := w.Episode(seed); end.Broken != nil {
		t.Fatal(end.Broken)
	}
	return h.acts
}

// follow makes a move of the model on the API server, and compares.
func (h *home) follow(m *model.Transition) {
	h.t.Helper()
	h.catchUp(m.Before)
	act := m.Move.Act()
	h.acts[act]++
	switch act {
	case model.Pass:
		h.pass(m, h.now, unlimited)
	case model.Die:
		h.brake = &ctrlslot.Brake{}
		h.pass(m, h.now, int(m.Move.Arg))
	case model.Lag:
		h.old = h.now
	case model.PassLagging:
		h.pass(m, h.now.lagging(h.old, model.Cached(m.Move.Arg)), unlimited)
	case model.Pause:
		h.pause(m, int(m.Move.Arg))
	case model.GoOn:
		h.goOn(m)
	case model.Rest:
		h.become(&m.Before.Objects, &m.After.Objects)
		if !m.After.Braked.Equal(m.Before.Braked) {
			h.brake.Take(m.After.Braked, 0)
		}
	}
	if act != model.Rest || !unchanged(h.was, &m.After.Objects) {
		h.now = h.look(m.After.Now)
		h.compare(&m.After.Objects)
	}
	h.was = &m.After.Objects
}

// catchUp does what happened between two moves of the model: its beginning, the end of its faults, the claim that begins
// the life after it.
func (h *home) catchUp(s *model.State) {
	h.t.Helper()
	if s.Leader == nil {
		h.paused.abandon()
		h.paused = nil
	}
	if unchanged(h.was, &s.Objects) {
		return
	}
	h.become(h.was, &s.Objects)
	h.now = h.look(s.Now)
	h.compare(&s.Objects)
}

// unchanged is whether the model's world is the same: its objects are never changed in place.
func unchanged(a, b *model.Objects) bool {
	sameJob := func(a, b slot.Job) bool { return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion }
	return a.Slot == b.Slot && a.Group == b.Group && a.KubeNode == b.KubeNode && slices.Equal(a.Claims, b.Claims) &&
		slices.EqualFunc(a.Jobs, b.Jobs, sameJob)
}

// end leaves nothing behind outside of the namespace, for the next history.
func (h *home) end() {
	h.paused.abandon()
	err := h.client.Delete(context.WithoutCancel(h.t.Context()), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine}})
	if client.IgnoreNotFound(err) != nil {
		h.t.Error(err)
	}
}
