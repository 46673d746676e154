package observe_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/observer"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) {
	observeForAnother()
	house.Main(m, 10)
}

const (
	claim = "asked"
	// late is the window of a boot that must not run out of it.
	late = 10 * time.Minute
	// account is the observer's.
	account = "power-observer"
)

// home is a machine whose switch is read; its Jobs work the machine past it, so that only readings lie.
type home struct {
	*house.Home
	panel *bmc.Panel
	// spoken is what the switch is read by, secret what opens it.
	spoken bmc.Protocol
	secret *corev1.Secret
	// unread stops the observer.
	unread func()
	mu     sync.Mutex
	log    []string
}

// pace is quick, for machines that boot in no time.
func pace() observer.Pace {
	return observer.Pace{Interval: 2 * time.Second, LeastGap: 500 * time.Millisecond, FollowUp: 1200 * time.Millisecond,
		LongestPause: 8 * time.Second, Lockout: 3 * time.Minute, Steady: 200 * time.Millisecond, Refresh: 4 * time.Second}
}

// move makes a home with a manager.
func move(t *testing.T, hs *house.House, sc scenario) *home {
	t.Helper()
	h := &home{unread: func() {}}
	h.Home = hs.Home(t, house.Options{Temperament: sc.temperament, Slot: func(spec *v2.NodeSpec, metal *machineroom.Metal) {
		if sc.slot != nil {
			sc.slot(spec, metal)
		}
		h.wire(t, spec, metal, cmp.Or(sc.wiring, bmc.ByIPMI))
	}})
	h.Policy.PowerConflict, h.Policy.ClockSkew = 3*time.Second, time.Second
	h.secret.Namespace = h.Namespace
	h.Create(h.secret)
	h.Manage(h.ControlPlane.Config())
	return h
}

// wire gives the machine a switch, and its slot the declaration of it.
func (h *home) wire(t *testing.T, spec *v2.NodeSpec, metal *machineroom.Metal, wiring bmc.Wiring) {
	t.Helper()
	panel, err := bmc.Wire(t.Context(), metal, bmc.Options{Dir: t.TempDir(), Protocols: wiring.Protocols()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(panel.Close)
	slot, secret, err := panel.Declare(wiring, "", "")
	if err != nil {
		t.Fatal(err)
	}
	h.panel, h.spoken, h.secret, spec.Power = panel, wiring.Protocols()[0], secret, slot.Spec.Power
}

// observe starts an observer as its ServiceAccount, with the rules of the manifests, and those Secrets: none is that of the
// machine's switch.
func (h *home) observe(secrets ...string) {
	h.T.Helper()
	if len(secrets) == 0 {
		secrets = []string{h.secret.Name}
	}
	reach := h.admit(secrets...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	log := funcr.New(func(prefix, text string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.log = append(h.log, prefix+" "+text)
	}, funcr.Options{LogTimestamp: true, Verbosity: 1})
	go func() {
		done <- observer.Serve(ctx, reach, config.Observer{Namespace: h.Namespace, Address: config.Off}, pace(), log)
	}()
	h.unread = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.T.Errorf("the observer ended: %v", err)
		}
		if h.T.Failed() {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, line := range h.log {
				h.T.Log(line)
			}
		}
	})
	h.T.Cleanup(func() { h.unread() })
}

// admit makes the observer's ServiceAccount with its rights, and answers its way to the API server.
func (h *home) admit(secrets ...string) *rest.Config {
	h.T.Helper()
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		h.T.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config/rbac/observer/role.yaml"))
	if err != nil {
		h.T.Fatal(err)
	}
	role := &rbacv1.Role{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		h.T.Fatal(err)
	}
	role.ObjectMeta = metav1.ObjectMeta{Name: account, Namespace: h.Namespace}
	if len(secrets) > 0 {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"get"}})
	}
	h.Create(&corev1.ServiceAccount{ObjectMeta: role.ObjectMeta}, role, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: h.Namespace}},
	})
	reach, err := h.ControlPlane.UserConfig("system:serviceaccount:"+h.Namespace+":"+account,
		"system:serviceaccounts", "system:serviceaccounts:"+h.Namespace)
	if err != nil {
		h.T.Fatal(err)
	}
	return reach
}

// lie changes how the switch lies.
func (h *home) lie(lies bmc.Lies) {
	h.T.Helper()
	if err := h.panel.SetLies(h.spoken, lies); err != nil {
		h.T.Fatal(err)
	}
}

// boot asks for the machine and waits until it serves.
func (h *home) boot() {
	h.T.Helper()
	h.Ask(claim, late)
	h.UntilSlot("serving", func(s *v2.Node) bool { return s.Status.Phase == v2.SlotReady })
}

// untilRead waits until the reading is that, with these words in it.
func (h *home) untilRead(state v2.PowerState, words ...string) *v2.Node {
	h.T.Helper()
	return h.UntilSlot(fmt.Sprintf("a reading of %s %v", state, words), func(s *v2.Node) bool {
		r := s.Status.PowerReading
		return r != nil && r.State == state && contains(r.Message, words)
	})
}

// untilRests waits until the claim has completed and nothing is owed for it.
func (h *home) untilRests() *v2.Node {
	h.T.Helper()
	slot := h.UntilSlot("resting", func(s *v2.Node) bool {
		d := s.Status.LastClaim
		return s.Status.Phase == v2.SlotOff && len(s.Finalizers) == 0 && d != nil && d.Name == claim && d.Phase == v2.ClaimCompleted
	})
	if h.IsOn() {
		h.T.Error("the slot rests, and by its power log the machine is on")
	}
	off := h.Await(machineroom.PoweredOff)
	if said := slot.Status.LastShutdownTime; said == nil || off.Time.After(said.Add(time.Second)) {
		h.T.Errorf("the slot believed off at %v, the power went at %v", said, off.Time)
	}
	return slot
}

// stays looks on for a while, in which something must hold of the slot.
func (h *home) stays(what string, d time.Duration, holds func(*v2.Node) bool) {
	h.T.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		slot, err := h.Slot(h.T.Context())
		if err != nil || slot == nil {
			h.T.Fatalf("the slot is %v, %v", slot, err)
		}
		if !holds(slot) {
			h.Tell()
			h.T.Fatalf("%s: not any more: %+v", what, slot.Status)
		}
	}
}

func conflict(slot *v2.Node) bool {
	return meta.IsStatusConditionTrue(slot.Status.Conditions, v2.ConditionPowerConflict)
}
