package observe_test

import (
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/observer"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

const (
	// controllers is how many slots there are, each with a BMC; serving is how many of their machines are on and serve.
	controllers, serving = 50, 10
	// rounds is how often the two sides take turns, each for so long.
	rounds, round = 6, 10 * time.Second
	// breath is the pause between two turns of the work that is measured.
	breath = 100 * time.Millisecond
	// reconcile is the name of what is measured beside the calls.
	reconcile = "Reconcile"
)

// BenchmarkBesideHungSwitches measures the manager's reconciles and every call to it, on a real API server and with an observer
// as a process of its own beside it: by turns while all BMCs answer, and while all take every packet and say nothing. Of each
// side it prints the median of the turns' percentiles; spread is by how much those of the first side differ among themselves,
// so that a ratio within it tells of the computer and not of the BMCs. Nothing here fails for being slow.
func BenchmarkBesideHungSwitches(b *testing.B) {
	t := settle(b)
	sides := map[bool][]sample{}
	for range rounds {
		for _, hung := range []bool{false, true} {
			t.hang(hung)
			sides[hung] = append(sides[hung], t.measure())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sides[true][0])) {
		b.Run(name, func(b *testing.B) {
			answering, hung := percentiles(sides[false], name, 99), percentiles(sides[true], name, 99)
			b.ReportMetric(0, "ns/op") // nothing is done here any more
			b.ReportMetric(micro(median(percentiles(sides[false], name, 50))), "answering-p50-µs")
			b.ReportMetric(micro(median(answering)), "answering-p99-µs")
			b.ReportMetric(micro(median(percentiles(sides[true], name, 50))), "hung-p50-µs")
			b.ReportMetric(micro(median(hung)), "hung-p99-µs")
			b.ReportMetric(micro(median(hung))/micro(median(answering)), "p99-ratio")
			b.ReportMetric(micro(slices.Max(answering))/micro(slices.Min(answering)), "p99-spread")
		})
	}
}

// sample is how long things took in one turn, by name and percentile.
type sample map[string]map[int]time.Duration

func percentiles(turns []sample, name string, percent int) (all []time.Duration) {
	for _, turn := range turns {
		all = append(all, turn[name][percent])
	}
	return all
}

func percentile(all []time.Duration, percent int) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)*percent/100]
}

func median(all []time.Duration) time.Duration { return percentile(all, 50) }

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// town is a manager with many machines, and an observer that reads their BMCs.
type town struct {
	*home
	b      *testing.B
	panels []*bmc.Panel
	calls  *calls
}

// settle makes a town in which some machines serve and the others are free, and no pod that would switch one on finds a
// place: a claim that is taken back ends at once.
func settle(b *testing.B) *town {
	b.Helper()
	t := &town{home: &home{unread: func() {}}, b: b}
	t.Home = house.New(b).Home(b, house.Options{
		Group: func(spec *v2.GroupSpec) { spec.Engine = v2.EngineClusterAutoscaler },
		Slot:  func(spec *v2.NodeSpec, _ *machineroom.Metal) { spec.Suspend = true }, // the home's own machine is none of these
	})
	t.Policy.ClaimTTL = time.Second // what is over does not gather
	address, err := controlplane.FreeAddress()
	if err != nil {
		b.Fatal(err)
	}
	t.Configure = func(c *config.Config) { c.GRPCAddress = address }
	var secrets []string
	for i := range controllers {
		secrets = append(secrets, t.build("bmc-"+strconv.Itoa(i), i < serving))
	}
	t.Manage(t.ControlPlane.Config())
	t.calls = dial(b, address)
	t.Eventually("machines that serve", func(ctx context.Context) string {
		var claims v2.NodeClaimList
		if err := t.Client.List(ctx, &claims, client.InNamespace(t.Namespace)); err != nil {
			return err.Error()
		}
		ready := slices.DeleteFunc(claims.Items, func(c v2.NodeClaim) bool { return c.Status.Phase != v2.ClaimReady })
		if len(ready) < serving {
			return strconv.Itoa(len(ready)) + " are ready"
		}
		return ""
	})
	t.watchFromElsewhere(secrets)
	return t
}

// build makes a machine with a BMC, its slot, and, where it is to serve, its claim; it answers its Secret's name.
func (t *town) build(name string, on bool) string {
	t.b.Helper()
	metal, err := t.Room.AddMachine(machineroom.Machine{Name: name, Labels: map[string]string{v2.LabelNode: name}, On: on})
	if err != nil {
		t.b.Fatal(err)
	}
	panel, err := bmc.Wire(t.b.Context(), metal, bmc.Options{Dir: t.b.TempDir()})
	if err != nil {
		t.b.Fatal(err)
	}
	t.b.Cleanup(panel.Close)
	slot, secret, err := panel.Declare(bmc.ByIPMI, t.Namespace, house.Pool)
	if err != nil {
		t.b.Fatal(err)
	}
	secret.Namespace = t.Namespace
	slot.Spec.Pricing = &v2.Pricing{HourlyRate: "0.03", PodRate: "0.001"}
	slot.Spec.StartupPodSpec = metal.StartupPodSpec()
	slot.Spec.StartupPodSpec.NodeSelector = map[string]string{"nowhere": ""}
	t.panels = append(t.panels, panel)
	t.Create(secret, slot)
	if on {
		claim := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.Namespace}}
		claim.Spec.SlotRef = corev1.ObjectReference{Name: name}
		claim.Spec.Request = v2.ClaimRequest{Call: v2.CallCreate, Group: house.Pool}
		claim.Spec.DeadlineAt = new(metav1.NewTime(time.Now().Add(late)))
		t.Create(claim)
	}
	return secret.Name
}

// hang makes all BMCs hang, or answer, and waits until the observer has found out.
func (t *town) hang(hung bool) {
	t.b.Helper()
	for _, panel := range t.panels {
		if err := panel.SetLies(bmc.IPMI, bmc.Lies{AnswerNever: hung}); err != nil {
			t.b.Fatal(err)
		}
	}
	t.Eventually("all readings", func(ctx context.Context) string {
		var slots v2.NodeList
		if err := t.Client.List(ctx, &slots, client.InNamespace(t.Namespace)); err != nil {
			return err.Error()
		}
		n := 0
		for _, slot := range slots.Items {
			if r := slot.Status.PowerReading; r != nil && (r.State == v2.PowerUnknown) == hung {
				n++
			}
		}
		if n < controllers {
			return strconv.Itoa(n) + " are right"
		}
		return ""
	})
}

// measure works for a while and tells how long everything took.
func (t *town) measure() sample {
	t.b.Helper()
	before := reconciles(t.b)
	for i, end := 0, time.Now().Add(round); time.Now().Before(end); i++ {
		t.unstamp("bmc-" + strconv.Itoa(i%serving))
		if err := t.calls.turn(t.b.Context()); err != nil {
			t.b.Fatal(err)
		}
		time.Sleep(breath)
	}
	s, did := t.calls.sample(), reconciles(t.b).since(before)
	s[reconcile] = map[int]time.Duration{50: did.percentile(50), 99: did.percentile(99)}
	return s
}

// unstamp takes from a kubeNode what its slot's reconcile puts back.
func (t *town) unstamp(kubeNode string) {
	t.b.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"labels": {"`+v2.LabelNode+`": null}}}`))
	if err := t.Client.Patch(t.b.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: kubeNode}}, patch); err != nil {
		t.b.Fatal(err)
	}
}

// observed is the environment variable that names the namespace whose switches this program reads, instead of what it is for.
const observed = "SANDBOX_OBSERVES"

// watchFromElsewhere starts an observer as a process of its own.
func (t *town) watchFromElsewhere(secrets []string) {
	t.b.Helper()
	path := filepath.Join(t.b.TempDir(), "kubeconfig")
	if err := t.ControlPlane.WriteKubeconfig(path, t.admit(secrets...)); err != nil {
		t.b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.b.Fatal(err)
	}
	other := exec.CommandContext(context.WithoutCancel(t.b.Context()), self)
	other.Env, other.Stderr = append(os.Environ(), observed+"="+t.Namespace, clientcmd.RecommendedConfigPathEnvVar+"="+path), os.Stderr
	lifeline, err := other.StdinPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.b.Fatal(err)
	}
	t.b.Cleanup(func() {
		_ = lifeline.Close()
		if err := other.Wait(); err != nil {
			t.b.Errorf("the observer ended: %v", err)
		}
	})
}

// observeForAnother is an observer, until standard input ends, in a process that was started as one. It asks twenty times as
// often as at home and does not lose patience.
func observeForAnother() {
	namespace := os.Getenv(observed)
	if namespace == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	p := pace()
	p.Interval, p.LongestPause, p.Refresh = 3*time.Second, 3*time.Second, 2*time.Minute
	log := logr.New(ctrllog.NullLogSink{})
	ctrllog.SetLogger(log)
	reach, err := config.Config{Kubeconfig: os.Getenv(clientcmd.RecommendedConfigPathEnvVar)}.RestConfig()
	if err == nil {
		err = observer.Serve(ctx, reach, config.Observer{Namespace: namespace, Address: config.Off}, p, log)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}
