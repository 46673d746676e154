package house

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// Settle is the shutdownSettle of a home. It is longer than a kubelet must be silent before its kubeNode says so: else
// the machine would still seem to be on when the next shutdown Job is due.
const Settle = 9 * time.Second

// Pool is the name of a home's group.
const Pool = "pool"

// Home is one case's pool of one machine, with a proxy between its manager and the API server.
type Home struct {
	*House
	T testing.TB
	// Client reaches the API server past the proxy.
	Client client.Client
	// Proxy counts what the manager writes, and lets it fail.
	Proxy *proxy.Proxy
	// Namespace is the case's own; Machine is the machine's name, its slot's and its kubeNode's.
	Namespace, Machine string
	Metal              *machineroom.Metal
	// Policy is what the managers have for what a group cannot say.
	Policy policy.Policy
	// Clock, if set, is read by the managers in place of the real one.
	Clock clock.Clock
	// Configure, if set, changes how managers are started.
	Configure func(*config.Config)
	// Log is what the managers logged.
	Log *Journal

	// webhook is where the API server finds whichever manager runs.
	webhook string
	stop    func()
	// lodges is whether the home is another's, whose managers are.
	lodges bool
}

// others are resources whose writes belong to no machine's life.
var others = []string{"groups", "secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}

// Options are how a home differs from others. The zero value is a good machine and a patient group.
type Options struct {
	// Temperament is how the machine misbehaves at first.
	Temperament machineroom.Temperament
	// Group and Slot change them before they are made.
	Group func(*v2.GroupSpec)
	Slot  func(*v2.NodeSpec, *machineroom.Metal)
}

// Home moves a case in. Its manager does not run yet.
func (h *House) Home(t testing.TB, o Options) *Home {
	t.Helper()
	home := &Home{House: h, T: t, Namespace: h.ControlPlane.Namespace(t), Policy: quick(), Log: &Journal{}, stop: func() {}}
	home.Machine = "m-" + home.Namespace[max(0, len(home.Namespace)-40):]
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if home.Client, err = client.New(h.ControlPlane.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if home.Proxy, err = proxy.Start(h.ControlPlane.Config(), append(slices.Clone(proxy.Bookkeeping), others...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(home.Proxy.Close)
	t.Cleanup(func() { home.Stop() })
	if home.webhook, err = controlplane.FreeAddress(); err != nil {
		t.Fatal(err)
	}
	if err := h.ControlPlane.InstallWebhooks(t.Context(), home.Namespace, home.Namespace, home.webhook); err != nil {
		t.Fatal(err)
	}
	home.furnish(o)
	return home
}

// Lodger moves another case into the home: with a machine and a slot of its own, and the home's namespace, group and manager.
func (h *Home) Lodger(t *testing.T, machine string, o Options) *Home {
	t.Helper()
	lodger := *h
	lodger.T, lodger.Machine, lodger.lodges = t, machine, true
	lodger.addMachine(o)
	return &lodger
}

// furnish makes machine, group and slot.
func (h *Home) furnish(o Options) {
	h.T.Helper()
	group := h.group()
	if o.Group != nil {
		o.Group(&group.Spec)
	}
	h.Create(group)
	h.addMachine(o)
}

// addMachine makes the machine and its slot.
func (h *Home) addMachine(o Options) {
	h.T.Helper()
	var err error
	// The label comes with the kubelet, as --node-labels would have it: the power pods of other cases keep off the machine
	// from its first moment, not only once its own manager, which may be dead, has stamped it.
	h.Metal, err = h.Room.AddMachine(machineroom.Machine{
		Name: h.Machine, Labels: map[string]string{v2.LabelNode: h.Machine}, Temperament: o.Temperament,
	})
	if err != nil {
		h.T.Fatal(err)
	}
	slot := h.Metal.Slot(h.Namespace, Pool)
	if o.Slot != nil {
		o.Slot(&slot.Spec, h.Metal)
	}
	h.Create(&slot)
}

// group has short times, so that an episode takes seconds, and yet times that a busy computer keeps.
func (h *Home) group() *v2.Group {
	return &v2.Group{
		ObjectMeta: metav1.ObjectMeta{Name: Pool, Namespace: h.Namespace},
		Spec: v2.GroupSpec{
			Engine:              v2.EngineNone,
			NodeReadinessTaints: []v2.ReadinessTaint{},
			Timeouts: &v2.Timeouts{
				StartupJob: Seconds(180), Registration: Seconds(30), ReadinessGate: Seconds(180), ShutdownJob: Seconds(180),
				ShutdownSettle: &metav1.Duration{Duration: Settle}, Drain: Seconds(5),
			},
		},
	}
}

// quick is the default policy with short times where a group cannot set them.
func quick() policy.Policy {
	p := policy.Default()
	p.PollReserve, p.UncordonReserve, p.Margin = 2*time.Second, time.Second, time.Second
	p.UnclaimedGrace, p.SupersedeSettle, p.JoinMinAge = 2*time.Second, 2*time.Second, 5*time.Second
	p.JobPatience = 3 * time.Second
	return p
}

// Seconds is a duration as specs have it.
func Seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// Create makes objects.
func (h *Home) Create(objects ...client.Object) {
	h.T.Helper()
	for _, object := range objects {
		if err := h.Client.Create(h.T.Context(), object); err != nil {
			h.T.Fatal(err)
		}
	}
}

// Temper changes how the machine misbehaves.
func (h *Home) Temper(t machineroom.Temperament) {
	h.T.Helper()
	if err := h.Metal.SetTemperament(t); err != nil {
		h.T.Fatal(err)
	}
}

// Press works the machine's switch as a person does who stands before it.
func (h *Home) Press(action machineroom.Action) {
	h.T.Helper()
	if err := h.Metal.Press(h.T.Context(), action, "person"); err != nil {
		h.T.Fatal(err)
	}
}

// Await waits for something in the machine's power log, past or to come.
func (h *Home) Await(kinds ...machineroom.Kind) machineroom.Event {
	h.T.Helper()
	return h.AwaitAfter(0, kinds...)
}

// AwaitAfter waits for something in the machine's power log later than the event of that number.
func (h *Home) AwaitAfter(seq int64, kinds ...machineroom.Kind) machineroom.Event {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), patience)
	defer cancel()
	event, err := h.Room.WaitFor(ctx, machineroom.Of(h.Machine), machineroom.Is(kinds...), machineroom.After(seq))
	if err != nil {
		h.Tell()
		h.T.Fatalf("waiting for %v: %v", kinds, err)
	}
	return event
}

// Count is how often something stands in the machine's power log.
func (h *Home) Count(kinds ...machineroom.Kind) int {
	return len(h.Room.Log(machineroom.Of(h.Machine), machineroom.Is(kinds...)))
}

// IsOn is whether the machine has power by the last line of its power log.
func (h *Home) IsOn() bool {
	events := h.Room.Log(machineroom.Of(h.Machine))
	return len(events) > 0 && events[len(events)-1].On
}
