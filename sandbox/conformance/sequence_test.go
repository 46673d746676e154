package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/manager"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

var (
	sequenceFor  = flag.Duration("conformance.sequence", time.Minute, "for how long calls and misfortunes follow one another")
	sequenceSeed = flag.Uint64("conformance.seed", 0, "the `seed` of the sequence to play again; 0: one that was never played")
)

// sequenceMachines is how many machines the sequence plays with.
const sequenceMachines = 6

// TestSizesAgreeAfterEveryCall runs the whole manager on machines that misbehave, kills it between writes, takes claims
// away under it and holds its machines, all in an order that the seed decides. After every call, and all the time between
// two, the target size is what is listed as creating or running, and each node that the client takes for the group's is
// among those, by its id.
func TestSizesAgreeAfterEveryCall(t *testing.T) {
	h := newHouse(t)
	h.cp.ResetAfter(t)
	if *sequenceSeed == 0 {
		*sequenceSeed = rand.Uint64()
	}
	t.Logf("to play this again: -run '^%s$' -conformance.seed=%d -conformance.sequence=%s", t.Name(), *sequenceSeed, *sequenceFor)
	s := &sequence{house: h, done: map[string]int{}, seen: map[string]int{}}
	s.furnish()
	s.start()
	t.Cleanup(func() { s.stop() })
	random := rand.New(rand.NewPCG(*sequenceSeed, 0))
	for end := time.Now().Add(*sequenceFor); time.Now().Before(end) && !t.Failed(); {
		s.step(draw(random))
	}
	t.Logf("%d checks; instances seen by them: %v; at most %d nodes were the group's at once; steps: %v", s.checks, s.seen, s.registered, s.done)
	for _, must := range []string{"increase OK", "delete OK", "crash"} {
		if s.done[must] == 0 {
			t.Errorf("the sequence had no %s", must)
		}
	}
	if s.seen["running"] == 0 || s.registered == 0 {
		t.Error("the sequence saw no machine run")
	}
}

type sequence struct {
	house
	port    Port
	run     *run
	metal   []*machineroom.Metal
	proxy   *proxy.Proxy
	stop    func()
	history []string
	// done counts the steps by what came of them, seen the instances that checks met by their states.
	done, seen         map[string]int
	checks, registered int
}

// furnish makes the machines, their slots and the group.
func (s *sequence) furnish() {
	s.t.Helper()
	room, err := machineroom.New(context.WithoutCancel(s.t.Context()), s.cp.Config(), machineroom.Options{
		Dir: s.t.TempDir(), BootTime: time.Second, ShutdownTime: 300 * time.Millisecond, LeaseInterval: time.Second, StatusInterval: time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = room.Stop() }) // the processes end with this one anyway
	if err := room.AddAlwaysOn("infra"); err != nil {
		s.t.Fatal(err)
	}
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	s.create(&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: v2.GroupSpec{
		NodeReadinessTaints: []v2.ReadinessTaint{},
		Timeouts: &v2.Timeouts{StartupJob: seconds(8), Registration: seconds(3), ReadinessGate: seconds(6), ShutdownJob: seconds(8),
			ShutdownSettle: seconds(3), Drain: seconds(2)},
	}})
	for i := range sequenceMachines {
		name := fmt.Sprintf("m-%d", i)
		metal, err := room.AddMachine(machineroom.Machine{Name: name, Labels: map[string]string{v2.LabelNode: name},
			Capacity: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("110")}})
		if err != nil {
			s.t.Fatal(err)
		}
		slot := metal.Slot(s.namespace, "g")
		delete(slot.Spec.NodeLabels, v2.LabelNode)
		s.create(&slot)
		s.metal = append(s.metal, metal)
	}
}

// hasty is a policy under which a minute holds several lives of a machine.
func hasty() policy.Policy {
	p := policy.Default()
	p.PollReserve, p.UncordonReserve, p.Margin = time.Second, time.Second, time.Second
	p.UnclaimedGrace, p.SupersedeSettle, p.JoinMinAge, p.JoinPatience = 2*time.Second, 2*time.Second, 5*time.Second, 8*time.Second
	p.CoolOffBase, p.CoolOffMax, p.ShutdownPause, p.ErroredFor = 5*time.Second, 10*time.Second, 5*time.Second, 5*time.Second
	p.StuckThreshold, p.ClaimTTL = 30*time.Second, 10*time.Second
	return p
}

// start runs a manager behind a proxy of its own, and waits until its provider answers.
func (s *sequence) start() {
	s.t.Helper()
	var err error
	if s.proxy, err = proxy.Start(s.cp.Config(), proxy.Bookkeeping); err != nil {
		s.t.Fatal(err)
	}
	m, err := manager.New(s.proxy.Config(), config.Config{
		Namespace: s.namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: config.Off, ProbeAddress: config.Off, StartTimeout: patience,
	}, manager.Options{Policy: new(hasty())})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) }) // one whose connections were cut ends with an error, and may
	s.port = Port{Address: m.GRPCAddress()}
	conn, err := s.port.Dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.stop = func() {
		_ = conn.Close()
		cancel()
		running.Wait()
		s.proxy.Close()
		s.stop = func() {}
	}
	s.run = &run{ctx: s.t.Context(), suite: &Suite{}}
	s.run.rpc = pb.NewCloudProviderClient(watched{conn, s.run})
	s.until("the provider answers", func(ctx context.Context) bool {
		_, err := s.run.rpc.Refresh(ctx, &pb.RefreshRequest{})
		return err == nil
	})
}

// reading is what the client would know of the group.
type reading struct {
	target    int32
	instances map[string]string
	// registered are the providerIDs of the kubeNodes that the client takes for the group's.
	registered []string
}

func (r reading) equal(other reading) bool {
	return r.target == other.target && maps.Equal(r.instances, other.instances) && slices.Equal(r.registered, other.registered)
}

// differs says which laws the reading breaks.
func (r reading) differs() (laws []string) {
	counted := 0
	for _, state := range r.instances {
		if state != "deleting" {
			counted++
		}
	}
	if int(r.target) != counted {
		laws = append(laws, fmt.Sprintf("the target size is %d, and %d are listed as creating or running", r.target, counted))
	}
	if r.target > sequenceMachines {
		laws = append(laws, fmt.Sprintf("the target size is %d, of %d machines", r.target, sequenceMachines))
	}
	for _, id := range r.registered {
		if state := r.instances[id]; state != "creating" && state != "running" {
			laws = append(laws, fmt.Sprintf("node %s is the group's, and is listed as %q", id, state))
		}
	}
	return laws
}

// check demands the laws of what the client would know now. Its calls come one after another while machines move, so that
// a reading counts once it was made twice in a row: the same differences cannot come and go between two pairs of calls.
func (s *sequence) check() {
	s.t.Helper()
	before, err := s.read()
	for range 100 {
		if err != nil {
			s.t.Fatalf("reading: %v\n%s", err, s.told())
		}
		var now reading
		if now, err = s.read(); err != nil || !now.equal(before) {
			before = now
			continue
		}
		s.checks++
		s.registered = max(s.registered, len(now.registered))
		for state := range maps.Values(now.instances) {
			s.seen[state]++
		}
		if differs := append(s.run.differs, now.differs()...); len(differs) > 0 {
			s.t.Fatalf("%s: %+v\n%s", strings.Join(differs, "; "), now, s.told())
		}
		return
	}
	s.t.Fatalf("the group never holds still\n%s", s.told())
}

func (s *sequence) read() (reading, error) {
	target, err := s.run.target("g")
	if err != nil {
		return reading{}, err
	}
	instances, err := s.run.instances("g")
	if err != nil {
		return reading{}, err
	}
	r := reading{target: target, instances: map[string]string{}}
	for id, status := range instances {
		r.instances[id] = state(status)
	}
	r.registered, err = s.nodesOfTheGroup()
	return r, err
}

func state(status *pb.InstanceStatus) string {
	switch {
	case status.GetErrorInfo() != nil:
		return "errored"
	case status.GetInstanceState() == pb.InstanceStatus_instanceCreating:
		return "creating"
	case status.GetInstanceState() == pb.InstanceStatus_instanceRunning:
		return "running"
	case status.GetInstanceState() == pb.InstanceStatus_instanceDeleting:
		return "deleting"
	}
	return status.String()
}

// nodesOfTheGroup asks of each kubeNode there is whose it is, as the client does.
func (s *sequence) nodesOfTheGroup() (ids []string, err error) {
	var kubeNodes corev1.NodeList
	if err := s.List(s.t.Context(), &kubeNodes); err != nil {
		return nil, err
	}
	for _, n := range kubeNodes.Items {
		group, err := s.run.groupOf(&pb.ExternalGrpcNode{
			Name: n.Name, ProviderID: n.Spec.ProviderID, Labels: n.Labels, Annotations: n.Annotations,
		})
		if err != nil {
			return nil, err
		}
		if group.GetId() == "g" {
			ids = append(ids, n.Spec.ProviderID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// told is what led to a failure: the last steps, and the claims as they are.
func (s *sequence) told() string {
	lines := append([]string{"the last steps:"}, s.history[max(0, len(s.history)-30):]...)
	lines = append(lines, "claims:")
	for slot, claims := range s.claims() {
		for _, c := range claims {
			lines = append(lines, fmt.Sprintf("%s: %s %s %s, call %s, being deleted %t, %v",
				slot, c.Name, c.Status.Phase, c.Status.Reason, c.Spec.Request.Call, c.DeletionTimestamp != nil, c.Finalizers))
		}
	}
	return strings.Join(lines, "\n")
}
