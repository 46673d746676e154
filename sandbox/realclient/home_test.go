package realclient

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/manager"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// patience is how long a scenario waits for what must come; nothing that works takes nearly as long.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	flag.Parse()
	log.SetLogger(logr.Discard())
	controlplane.Main(m)
}

// home is one scenario's cluster: a room of its own, a manager in this process, and the tap in front of its provider.
type home struct {
	client.Client
	t         *testing.T
	cp        *controlplane.ControlPlane
	room      *machineroom.Room
	namespace string
	// dir is for the client's files; with -artifacts they are kept.
	dir string
	tap *tap
	// rpc reaches the provider beside the tap, for the test itself.
	rpc pb.CloudProviderClient

	binary string
	// patienceOfCalls is how long the client waits for the answer to a call.
	patienceOfCalls time.Duration

	// stop ends the manager in order.
	stop func()

	client  *autoscaler
	started int
	log     *journal
}

// journal keeps what the manager logs, to be read when a scenario fails.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) write(prefix, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, strings.TrimSpace(prefix+" "+text))
}

// newHome is a cluster with control-plane nodes, which execute the power Jobs, and no machine yet. The manager runs.
func newHome(t *testing.T, controlPlanes ...string) *home {
	return newHomeBehind(t, nil, controlPlanes...)
}

// newHomeBehind changes how the manager reaches the API server.
func newHomeBehind(t *testing.T, change func(*rest.Config), controlPlanes ...string) *home {
	t.Helper()
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	o := &home{t: t, cp: cp, namespace: cp.Namespace(t), dir: t.ArtifactDir(), log: &journal{}}
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if o.Client, err = client.New(cp.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	o.openRoom(controlPlanes)
	reach := cp.Config()
	if change != nil {
		change(reach)
	}
	address := o.manage(reach)
	o.tap = newTap(t, address)
	o.dial(address)
	t.Cleanup(o.tell)
	return o
}

// dial lets the test itself call a provider, once it answers.
func (o *home) dial(address string) {
	o.t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = conn.Close() })
	o.rpc = pb.NewCloudProviderClient(conn)
	o.eventually("the provider answers", func(ctx context.Context) string {
		if _, err := o.rpc.Refresh(ctx, &pb.RefreshRequest{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// newAutoscaledHome is a home for the real client; without its binary the test is skipped.
func newAutoscaledHome(t *testing.T, controlPlanes ...string) *home {
	t.Helper()
	return newAutoscaledHomeBehind(t, nil, controlPlanes...)
}

func newAutoscaledHomeBehind(t *testing.T, change func(*rest.Config), controlPlanes ...string) *home {
	t.Helper()
	binary := autoscalerBinary(t)
	o := newHomeBehind(t, change, controlPlanes...)
	o.binary, o.patienceOfCalls = binary, 10*time.Second
	return o
}

func (o *home) openRoom(controlPlanes []string) {
	o.t.Helper()
	var err error
	o.room, err = machineroom.New(context.WithoutCancel(o.t.Context()), o.cp.Config(), machineroom.Options{
		Dir: o.t.TempDir(), BootTime: 2 * time.Second, ShutdownTime: time.Second,
		LeaseInterval: time.Second, StatusInterval: time.Second,
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() {
		if err := o.room.Stop(); err != nil {
			o.t.Error(err)
		}
	})
	if len(controlPlanes) == 0 {
		controlPlanes = []string{"control-plane"}
	}
	for _, name := range controlPlanes {
		if err := o.room.AddAlwaysOn(name, machineroom.ControlPlane); err != nil {
			o.t.Fatal(err)
		}
		if _, err := o.room.WaitFor(o.t.Context(), machineroom.Of(name), machineroom.Is(machineroom.Ready)); err != nil {
			o.t.Fatal(err)
		}
	}
}

// manage runs a manager until it is stopped or the scenario ends, and returns its provider's address.
func (o *home) manage(reach *rest.Config) string {
	o.t.Helper()
	// The reserves of a boot's budget are for real machines; what is left of it is the group's.
	p := policy.Default()
	p.PollReserve, p.UncordonReserve, p.Margin = time.Second, time.Second, 2*time.Second
	m, err := manager.New(reach, config.Config{
		Namespace: o.namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: config.Off, ProbeAddress: config.Off, StartTimeout: time.Minute,
	}, manager.Options{Policy: &p, Log: o.log.logger()})
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			o.t.Errorf("running the manager: %v", err)
		}
	})
	o.t.Cleanup(o.stop)
	return m.GRPCAddress()
}

func (j *journal) logger() logr.Logger {
	return funcr.New(j.write, funcr.Options{LogTimestamp: true})
}

// eventually waits until nothing is missing any more, and fails when the client dies meanwhile.
func (o *home) eventually(what string, missing func(context.Context) string) {
	o.t.Helper()
	last := "nothing was seen"
	err := wait.PollUntilContextTimeout(o.t.Context(), 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if o.client != nil && !o.client.lives() {
			return false, fmt.Errorf("the client ended by itself (%s)", o.client.cmd.ProcessState)
		}
		last = missing(ctx)
		return last == "", nil
	})
	if err != nil {
		o.t.Fatalf("waiting until %s: %v: %s", what, err, last)
	}
}

// tell notes what happened, and after a failure all that may explain it.
func (o *home) tell() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	note := []string{"in short: " + o.client.name() + ": " + o.tap.inShort() + " | " + o.cameOfIt(ctx), "calls of the client:"}
	note = append(append(note, o.tap.note()...), "objects:")
	note = append(note, o.objects(ctx)...)
	note = append(note, "power log:")
	for _, event := range o.room.Log() {
		note = append(note, event.String())
	}
	o.t.Log(strings.Join(note, "\n"))
	if !o.t.Failed() {
		return
	}
	var events eventsv1.EventList
	if err := o.List(ctx, &events, client.InNamespace(o.namespace)); err == nil {
		for _, event := range events.Items {
			o.t.Logf("event %s on %s %s: %s", event.Reason, event.Regarding.Kind, event.Regarding.Name, event.Note)
		}
	}
	o.log.mu.Lock()
	o.t.Log("the manager's log:\n" + strings.Join(o.log.lines, "\n"))
	o.log.mu.Unlock()
	if o.client != nil {
		o.t.Log("the end of the client's log:\n" + o.client.lastLines(60))
	}
}

// objects are the groups, claims, slots and kubeNodes, a line each.
func (o *home) objects(ctx context.Context) []string {
	var (
		lines     []string
		groups    v2.GroupList
		claims    v2.NodeClaimList
		slots     v2.NodeList
		kubeNodes corev1.NodeList
	)
	for _, list := range []client.ObjectList{&groups, &claims, &slots, &kubeNodes} {
		if err := o.List(ctx, list, client.InNamespace(o.namespace)); err != nil {
			return append(lines, err.Error())
		}
	}
	for _, group := range groups.Items {
		lines = append(lines, fmt.Sprintf("group %s: target %d, ready %d, offerable %d of %d",
			group.Name, group.Status.TargetSize, group.Status.Ready, group.Status.Offerable, group.Status.Slots))
	}
	for _, claim := range claims.Items {
		lines = append(lines, fmt.Sprintf("claim %s: %s %s, attempt %d, %d Jobs, last asked by %s",
			claim.Name, claim.Status.Phase, claim.Status.Reason, claim.Status.Attempt, len(claim.Status.Jobs), claim.Spec.Request.Call))
	}
	for i := range slots.Items {
		lines = append(lines, saySlot(&slots.Items[i]))
	}
	for _, kubeNode := range kubeNodes.Items {
		lines = append(lines, fmt.Sprintf("kubeNode %s: providerID %q, cordoned %t", kubeNode.Name, kubeNode.Spec.ProviderID, kubeNode.Spec.Unschedulable))
	}
	return lines
}

// cameOfIt tells in a few words of each machine that somebody switched on: how often, and how its newest claim ended.
func (o *home) cameOfIt(ctx context.Context) string {
	var told []string
	for _, metal := range o.room.Machines() {
		ons := o.room.PowerOns(metal.Name())
		if ons == 0 {
			continue
		}
		text := fmt.Sprintf("%s on %dx", metal.Name(), ons)
		if slot, err := o.slot(ctx, metal.Name()); err != nil {
			text += ", " + err.Error()
		} else if last := slot.Status.LastClaim; last != nil {
			text += fmt.Sprintf(", %s %s attempt %d, slot %s", last.Phase, last.Reason, last.Attempt, slot.Status.Phase)
		}
		told = append(told, text)
	}
	if len(told) == 0 {
		return "no machine was switched on"
	}
	return strings.Join(told, "; ")
}

func saySlot(slot *v2.Node) string {
	text := fmt.Sprintf("slot %s: %s, power %s, episode %d", slot.Name, slot.Status.Phase, slot.Status.PowerState, slot.Status.Episode)
	if last := slot.Status.LastClaim; last != nil {
		text += fmt.Sprintf(", last claim %s: %s %s, attempt %d, asked by %s", last.Name, last.Phase, last.Reason, last.Attempt, last.Request.Call)
		if last.EndedBy != nil {
			text += fmt.Sprintf(", ended by %s", last.EndedBy.Call)
		}
	}
	return text
}

func (o *home) slot(ctx context.Context, name string) (*v2.Node, error) {
	slot := &v2.Node{}
	return slot, o.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, slot)
}

// kubeNode is the kubeNode now, or nil.
func (o *home) kubeNode(ctx context.Context, name string) (*corev1.Node, error) {
	kubeNode := &corev1.Node{}
	err := o.Get(ctx, client.ObjectKey{Name: name}, kubeNode)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return kubeNode, err
}

// claims are all claims there are.
func (o *home) claims(ctx context.Context) ([]v2.NodeClaim, error) {
	var list v2.NodeClaimList
	err := o.List(ctx, &list, client.InNamespace(o.namespace))
	return list.Items, err
}
