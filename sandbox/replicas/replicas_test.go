package replicas_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/manager"
	"homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

func TestMain(m *testing.M) { controlplane.Main(m) }

// world is a namespace with one group and one slot, whose machine is off.
type world struct {
	t         *testing.T
	cp        *controlplane.ControlPlane
	client    client.Client
	namespace string
}

func newWorld(t *testing.T) world {
	t.Helper()
	cp := controlplane.ForTest(t)
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := world{t: t, cp: cp, client: c, namespace: cp.Namespace(t)}
	power := v2.MinimalPodSpec{Image: "switch"}
	w.create(
		&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: w.namespace}},
		&v2.Node{ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: w.namespace, Labels: map[string]string{v2.LabelGroup: "pool"}},
			Spec: v2.NodeSpec{KubernetesNodeName: "pi", StartupPodSpec: power, ShutdownPodSpec: power,
				NodeCapacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi")}}},
	)
	return w
}

func (w world) create(objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		if err := w.client.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

// run starts a manager and waits until it is ready. Stop ends it and waits for its end.
func (w world) run(reach *rest.Config, lease config.LeaderElection) (m *manager.Manager, stop func()) {
	w.t.Helper()
	m, err := manager.New(reach, config.Config{Namespace: w.namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true}, MetricsAddress: "127.0.0.1:0", MetricsInsecure: true,
		ProbeAddress: "127.0.0.1:0", StartTimeout: patience, LeaderElection: lease}, manager.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	running := true
	stop = func() {
		if cancel(); running {
			running = false
			if err := <-ended; err != nil {
				w.t.Errorf("stopped with %v", err)
			}
		}
	}
	w.t.Cleanup(stop)
	w.eventually("a manager is ready", func() error {
		response, err := get(w.t.Context(), m.ProbeAddress()+"/readyz")
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answers %s", response.Status)
		}
		return nil
	})
	return m, stop
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

func (w world) eventually(what string, check func() error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v", what, last)
	}
}

// targetSize asks a manager's provider for the size of the pool.
func targetSize(ctx context.Context, m *manager.Manager) (int32, error) {
	conn, err := grpc.NewClient(m.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	answer, err := externalgrpc.NewCloudProviderClient(conn).NodeGroupTargetSize(ctx, &externalgrpc.NodeGroupTargetSizeRequest{Id: "pool"})
	return answer.GetTargetSize(), err
}

// reconciles sums up how often the controllers of this process have decided.
func (w world) reconciles(m *manager.Manager) float64 {
	w.t.Helper()
	response, err := get(w.t.Context(), m.MetricsAddress()+"/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	sum, lines := 0.0, bufio.NewScanner(response.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), "} "); ok && strings.HasPrefix(name, "controller_runtime_reconcile_total{") {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			sum += n
		}
	}
	if sum == 0 {
		w.t.Fatal("the metrics count no decision")
	}
	return sum
}

// A machine that is off and unwanted is looked at when something changes, and costs nothing in between.
func TestAManagerWithNothingToDoDoesNothing(t *testing.T) {
	w := newWorld(t)
	between, err := proxy.Start(w.cp.Config(), []string{"leases"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(between.Close)
	m, _ := w.run(between.Config(), config.LeaderElection{})
	w.eventually("slot and group have a status", func() error {
		var slot v2.Node
		var group v2.Group
		at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: w.namespace, Name: name} }
		if err := w.client.Get(t.Context(), at("pi"), &slot); err != nil {
			return err
		}
		if err := w.client.Get(t.Context(), at("pool"), &group); err != nil {
			return err
		}
		if slot.Status.Phase != v2.SlotOff || group.Status.Slots != 1 {
			return fmt.Errorf("the slot is %q, the group counts %d", slot.Status.Phase, group.Status.Slots)
		}
		return nil
	})
	const quiet = 8 * time.Second
	time.Sleep(2 * time.Second) // what the first decisions wrote comes back as changes
	writes, decided := len(between.Writes()), w.reconciles(m)
	time.Sleep(quiet)
	if more := between.Writes()[writes:]; len(more) > 0 {
		t.Errorf("%d writes in %s, the first is %s", len(more), quiet, more[0])
	}
	if more := w.reconciles(m) - decided; more > 2 {
		t.Errorf("%v decisions in %s", more, quiet)
	}
}

// Two replicas answer the client alike, and one of them decides; when it stops, the other takes over at once.
func TestOfTwoReplicasOneDecidesAndBothAnswer(t *testing.T) {
	w := newWorld(t)
	lease := config.LeaderElection{Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 500 * time.Millisecond}
	first, stopFirst := w.run(w.cp.Config(), lease)
	holder := w.leader("")
	second, _ := w.run(w.cp.Config(), lease)
	for name, m := range map[string]*manager.Manager{"leader": first, "standby": second} {
		if size, err := targetSize(t.Context(), m); err != nil || size != 0 {
			t.Errorf("the %s answers %d, %v", name, size, err)
		}
	}
	stopFirst()
	if next := w.leader(holder); next == holder {
		t.Errorf("%s still leads", holder)
	}
	w.create(&v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Namespace: w.namespace},
		Spec: v2.NodeClaimSpec{SlotRef: corev1.ObjectReference{Name: "pi"}, Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "pool"}}})
	w.eventually("the successor boots the machine", func() error {
		var claim v2.NodeClaim
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "by-hand"}, &claim); err != nil {
			return err
		}
		if claim.Status.Phase != v2.ClaimBooting {
			return fmt.Errorf("the claim is %q", claim.Status.Phase)
		}
		return nil
	})
	w.eventually("the successor's provider counts the machine", func() error {
		size, err := targetSize(t.Context(), second)
		if err == nil && size != 1 {
			err = fmt.Errorf("it answers %d", size)
		}
		return err
	})
}

// leader waits for a holder of the lease other than the one given.
func (w world) leader(former string) (holder string) {
	w.t.Helper()
	w.eventually("somebody leads", func() error {
		var lease coordinationv1.Lease
		if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "homelab-autoscaler"}, &lease); err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || *lease.Spec.HolderIdentity == former {
			return fmt.Errorf("the holder is %v", lease.Spec.HolderIdentity)
		}
		holder = *lease.Spec.HolderIdentity
		return nil
	})
	return holder
}
