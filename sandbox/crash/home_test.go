package crash_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/manager"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// patience is how long a case waits for what must come; nothing that works takes nearly as long.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	flag.Parse()
	// The cases wait for machines, not for a CPU.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	controlplane.Main(m)
}

// house is what all cases share: one cluster, and one machine room with the node that runs the power Jobs.
type house struct {
	cp   *controlplane.ControlPlane
	room *machineroom.Room
}

func newHouse(t *testing.T) *house {
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	room, err := machineroom.New(t.Context(), cp.Config(), machineroom.Options{
		Dir: t.TempDir(), BootTime: 300 * time.Millisecond, ShutdownTime: 200 * time.Millisecond,
		LeaseInterval: time.Second, StatusInterval: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = room.Stop() }) // the processes end with this one anyway
	if err := room.AddAlwaysOn("infra"); err != nil {
		t.Fatal(err)
	}
	return &house{cp: cp, room: room}
}

// home is one case's pool of one machine, with a proxy between its manager and the API server.
type home struct {
	*house
	t         *testing.T
	client    client.Client
	proxy     *proxy.Proxy
	namespace string
	machine   string
	stop      func()
	log       *journal
}

// journal keeps what managers log, to be read when a case fails.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) write(prefix, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, prefix+" "+text)
}

func (j *journal) logger() logr.Logger {
	return funcr.New(j.write, funcr.Options{LogTimestamp: true, Verbosity: 1})
}

// settle is longer than a kubelet must be silent before its kubeNode says so: else the machine would still seem to be on
// when the next shutdown Job is due.
const settle = 9

const claimName = "asked-by-hand"

func (h *house) home(t *testing.T) *home {
	t.Helper()
	o := &home{house: h, t: t, namespace: h.cp.Namespace(t), stop: func() {}, log: &journal{}}
	o.machine = "m-" + o.namespace[max(0, len(o.namespace)-40):]
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if o.client, err = client.New(h.cp.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if o.proxy, err = proxy.Start(h.cp.Config(), append(slices.Clone(proxy.Bookkeeping), "groups")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.proxy.Close)
	t.Cleanup(func() { o.stop() })
	// The label comes with the kubelet, as --node-labels would have it: the power pods of other cases keep off the machine
	// from its first moment, not only once its own manager, which may be dead, has stamped it.
	metal, err := h.room.AddMachine(machineroom.Machine{Name: o.machine, Labels: map[string]string{v2.LabelNode: o.machine}})
	if err != nil {
		t.Fatal(err)
	}
	slot := metal.Slot(o.namespace, "pool")
	o.create(o.group(), &slot)
	return o
}

// group has short times, so that an episode takes seconds.
func (o *home) group() *v2.Group {
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	return &v2.Group{
		ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: o.namespace},
		Spec: v2.GroupSpec{
			Engine:              v2.EngineNone,
			NodeReadinessTaints: []v2.ReadinessTaint{},
			Timeouts: &v2.Timeouts{
				StartupJob: seconds(60), Registration: seconds(30), ReadinessGate: seconds(60), ShutdownJob: seconds(60),
				ShutdownSettle: seconds(settle), Drain: seconds(5),
			},
		},
	}
}

func (o *home) create(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		if err := o.client.Create(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
	}
}

// ask makes the claim of a person.
func (o *home) ask() {
	o.t.Helper()
	o.create(&v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claimName, Namespace: o.namespace},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: o.machine},
			Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "pool"},
			// Kept for the assertions.
			TTLSecondsAfterFinished: new(int32(3600)),
		},
	})
}

// manage starts a manager that reaches the API server as reach says, in place of the one that runs.
func (o *home) manage(reach *rest.Config) {
	o.t.Helper()
	o.stop()
	c := config.Config{
		Namespace: o.namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true}, MetricsAddress: config.Off, ProbeAddress: config.Off,
		StartTimeout: time.Minute,
	}
	m, err := manager.New(reach, c, manager.Options{Log: o.log.logger()})
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	o.stop = func() {
		cancel()
		o.log.write("ended:", fmt.Sprint(<-done)) // one whose connections were cut ends with an error, and may
		o.stop = func() {}
	}
}

// eventually waits until nothing is missing any more.
func (o *home) eventually(what string, missing func(context.Context) string) {
	o.t.Helper()
	last := "nothing was seen"
	err := wait.PollUntilContextTimeout(o.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = missing(ctx)
		return last == "", nil
	})
	if err != nil {
		for _, event := range o.room.Log(machineroom.Of(o.machine)) {
			o.t.Log(event)
		}
		for _, write := range o.proxy.Writes() {
			o.t.Log(write.Number, write)
		}
		var told eventsv1.EventList
		if err := o.client.List(o.t.Context(), &told, client.InNamespace(o.namespace)); err == nil {
			for _, event := range told.Items {
				o.t.Logf("event %s on %s %s: %s", event.Reason, event.Regarding.Kind, event.Regarding.Name, event.Note)
			}
		}
		o.log.mu.Lock()
		o.t.Log("the managers' log:\n" + strings.Join(o.log.lines, "\n"))
		o.log.mu.Unlock()
		o.t.Fatalf("%s: %s", what, last)
	}
}

// claim is the claim now, or nil.
func (o *home) claim(ctx context.Context) (*v2.NodeClaim, error) {
	claim := &v2.NodeClaim{}
	err := o.client.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: claimName}, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return claim, err
}

func (o *home) slot(ctx context.Context) (*v2.Node, error) {
	slot := &v2.Node{}
	return slot, o.client.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: o.machine}, slot)
}

// jobs are the lifecycle Jobs ever made for an operation: none is collected while a case runs.
func (o *home) jobs(operation string) []batchv1.Job {
	o.t.Helper()
	var list batchv1.JobList
	err := o.client.List(o.t.Context(), &list, client.InNamespace(o.namespace), client.MatchingLabels{v2.LabelOperation: operation})
	if err != nil {
		o.t.Fatal(err)
	}
	return list.Items
}

// checkEvents fails for a reason that was told twice on one object.
func (o *home) checkEvents() {
	o.t.Helper()
	var list eventsv1.EventList
	if err := o.client.List(o.t.Context(), &list, client.InNamespace(o.namespace)); err != nil {
		o.t.Fatal(err)
	}
	told := map[string]int{}
	for _, event := range list.Items {
		if kind := event.Regarding.Kind; kind != "NodeClaim" && kind != "Node" {
			continue
		}
		times := 1
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		told[fmt.Sprintf("%s on %s %s", event.Reason, event.Regarding.Kind, event.Regarding.Name)] += times
	}
	for what, times := range told {
		if times > 1 {
			o.t.Errorf("%s was told %d times", what, times)
		}
	}
}
