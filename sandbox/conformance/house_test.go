package conformance

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/provider"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	log.SetLogger(logr.Discard())
	controlplane.Main(m)
}

// house is a namespace of the real API server, as the admin sees it.
type house struct {
	client.Client
	t         *testing.T
	cp        *controlplane.ControlPlane
	namespace string
}

func newHouse(t *testing.T) house {
	t.Helper()
	cp := controlplane.ForTest(t)
	return house{Client: connect(t, cp.Config()), t: t, cp: cp, namespace: cp.Namespace(t)}
}

func connect(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a provider that talks to the API server by this config and sees each change of its cache so much late.
func (h house) serve(config *rest.Config, late time.Duration) pb.CloudProviderClient {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := connect(h.t, config)
	informers, err := cache.New(config, cache.Options{Scheme: c.Scheme(), DefaultNamespaces: map[string]cache.Config{h.namespace: {}}})
	if err != nil {
		h.t.Fatal(err)
	}
	live := kube.NewLive(c)
	server := provider.New(provider.Config{
		Namespace: h.namespace, Policy: policy.Default(), Informers: delayed{informers, late}, Live: live,
		Writer: kube.NewWriter(c, live), Clock: kube.Clock{}, Log: logr.Discard(), StopWithin: time.Second,
	})
	listener, err := new(net.ListenConfig).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- informers.Start(ctx) }()
	go func() { ended <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				h.t.Errorf("ending the provider: %v", err)
			}
		}
	})
	rpc := pb.NewCloudProviderClient(conn)
	h.until("the provider answers", func(ctx context.Context) bool {
		_, err := rpc.Refresh(ctx, &pb.RefreshRequest{}, grpc.WaitForReady(true))
		return err == nil
	})
	return rpc
}

// delayed tells of changes late, as an informer does whose watch lags.
type delayed struct {
	cache.Informers
	by time.Duration
}

func (d delayed) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := d.Informers.GetInformer(ctx, object, options...)
	return delayedInformer{informer, d.by}, err
}

type delayedInformer struct {
	cache.Informer
	by time.Duration
}

func (d delayedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	if d.by == 0 {
		return d.Informer.AddEventHandler(h)
	}
	// One line of events, so that their order stays.
	events := make(chan func(), 1<<16)
	go func() {
		for event := range events {
			event()
		}
	}()
	late := func(do func()) {
		at := time.Now().Add(d.by)
		events <- func() {
			time.Sleep(time.Until(at))
			do()
		}
	}
	return d.Informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { late(func() { h.OnAdd(o, false) }) },
		UpdateFunc: func(before, o any) { late(func() { h.OnUpdate(before, o) }) },
		DeleteFunc: func(o any) { late(func() { h.OnDelete(o) }) },
	})
}

func (h house) until(what string, reached func(context.Context) bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	for !reached(ctx) {
		select {
		case <-ctx.Done():
			h.t.Fatalf("waiting until %s: %v", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (h house) create(object client.Object) {
	h.t.Helper()
	object.SetNamespace(h.namespace)
	if err := h.Create(h.t.Context(), object); err != nil {
		h.t.Fatalf("creating %s: %v", object.GetName(), err)
	}
}

func (h house) group(name string, minSize int32) {
	h.create(&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v2.GroupSpec{MinSize: minSize}})
}

// slots puts n machines into group g.
func (h house) slots(n int) {
	power := v2.MinimalPodSpec{Image: "switch"}
	for i := range n {
		name := fmt.Sprintf("g-%02d", i)
		h.create(&v2.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v2.LabelGroup: "g"}},
			Spec: v2.NodeSpec{
				KubernetesNodeName: name, StartupPodSpec: power, ShutdownPodSpec: power,
				NodeCapacity: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
			},
		})
	}
}

// claims are all claims there are, by slot.
func (h house) claims() map[string][]v2.NodeClaim {
	h.t.Helper()
	var list v2.NodeClaimList
	if err := h.List(h.t.Context(), &list, client.InNamespace(h.namespace)); err != nil {
		h.t.Fatal(err)
	}
	bySlot := map[string][]v2.NodeClaim{}
	for _, claim := range list.Items {
		bySlot[claim.Spec.SlotRef.Name] = append(bySlot[claim.Spec.SlotRef.Name], claim)
	}
	return bySlot
}

// advance brings the one claim of a slot into a phase, as the controller would.
func (h house) advance(slot string, edit func(*v2.NodeClaim)) {
	h.t.Helper()
	claims := h.claims()[slot]
	if len(claims) != 1 {
		h.t.Fatalf("slot %s has %d claims", slot, len(claims))
	}
	claim := &claims[0]
	edit(claim)
	status := claim.Status.DeepCopy()
	if err := h.Update(h.t.Context(), claim); err != nil {
		h.t.Fatal(err)
	}
	claim.Status = *status
	if err := h.Status().Update(h.t.Context(), claim); err != nil {
		h.t.Fatal(err)
	}
}

func committed(phase v2.ClaimPhase) func(*v2.NodeClaim) {
	return func(c *v2.NodeClaim) {
		c.Finalizers = []string{v2.FinalizerNodeClaim}
		c.Status.Phase = phase
	}
}

func increase(t *testing.T, rpc pb.CloudProviderClient, group string, delta int32) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := rpc.NodeGroupIncreaseSize(ctx, &pb.NodeGroupIncreaseSizeRequest{Id: group, Delta: delta})
	return err
}

func decrease(t *testing.T, rpc pb.CloudProviderClient, group string, delta int32) error {
	t.Helper()
	_, err := rpc.NodeGroupDecreaseTargetSize(t.Context(), &pb.NodeGroupDecreaseTargetSizeRequest{Id: group, Delta: delta})
	return err
}

func remove(t *testing.T, rpc pb.CloudProviderClient, group string, names ...string) error {
	t.Helper()
	request := &pb.NodeGroupDeleteNodesRequest{Id: group}
	for _, name := range names {
		request.Nodes = append(request.Nodes, &pb.ExternalGrpcNode{Name: name, ProviderID: v2.ProviderIDPrefix + name})
	}
	_, err := rpc.NodeGroupDeleteNodes(t.Context(), request)
	return err
}

func target(t *testing.T, rpc pb.CloudProviderClient) int32 {
	t.Helper()
	answer, err := rpc.NodeGroupTargetSize(t.Context(), &pb.NodeGroupTargetSizeRequest{Id: "g"})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetTargetSize()
}
