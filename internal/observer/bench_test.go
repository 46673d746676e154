package observer

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
)

// controllers is how many BMCs one observer is to read for less than a hundredth of a core.
const controllers = 200

// BenchmarkPoll is one whole round: the Secret is read, the BMC is asked over RMCP+ and what it says is saved, which a round
// mostly does not. The CPU time is that of the whole process, the BMC's and the API server's stand-ins included, so that it
// is more than the observer's own.
func BenchmarkPoll(b *testing.B) {
	slot := slotAt("a", "127.0.0.1")
	slot.Namespace = "home"
	slot.Spec.Power.IPMI.Port = controller(b)
	slot.Spec.Power.IPMI.CredentialsSecretRef.Name = "bmc"
	api := apiServer(b)
	o := &Observer{Clock: kube.Clock{}, Pace: Gentle(), Chance: func() float64 { return 0 }, Log: logr.Discard(),
		Told: func(string, Result, time.Duration) {}, Open: Opener(kube.NewLive(api)), Save: kube.NewReadings(api).Save}
	l := &line{o: o, counts: map[Result]float64{}}
	l.begin(slot)
	l.memory.said, l.memory.saved = v2.PowerOn, &v2.PowerReading{State: v2.PowerOn}
	before := processorTime(b)
	for b.Loop() {
		l.tell(slot, Heard) // a round that is saved
		l.round(b.Context())
	}
	if l.counts[Read] != float64(b.N) {
		b.Fatalf("of %d rounds came %v", b.N, l.counts)
	}
	poll := (processorTime(b) - before) / time.Duration(b.N)
	percent := 100 * poll.Seconds() * controllers / Gentle().Interval.Seconds()
	b.ReportMetric(float64(poll.Microseconds()), "cpu-µs/poll")
	b.ReportMetric(percent, "%-of-a-core-for-"+strconv.Itoa(controllers))
	if percent >= 1 && b.N > 100 {
		b.Errorf("%d controllers cost %.2f %% of a core", controllers, percent)
	}
}

// processorTime is what this process has used of processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// controller is a BMC of a machine that is on; it answers at a port of 127.0.0.1.
func controller(b *testing.B) int32 {
	b.Helper()
	board := mock.New()
	if err := board.Chassis().SetPower(b.Context(), true); err != nil {
		b.Fatal(err)
	}
	machine := bmc.New(bmc.DeviceInfo{DeviceID: 0x20, IPMIVersion: 0x02}, [16]byte{1}, board)
	if _, err := machine.Users.Add(2, "admin"); err != nil {
		b.Fatal(err)
	}
	err := machine.Users.Update(2, func(u *bmc.User) error {
		u.SetPassword([]byte("secret"))
		u.Enabled = true
		u.ChannelAccess = map[uint8]bmc.UserChannelAccess{1: {MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	conn, err := udp.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(func() {
		cancel()
		_ = conn.Close()
	})
	go func() { _ = server.NewServer(machine, conn).Serve(ctx) }()
	return int32(conn.LocalAddr().(*net.UDPAddr).Port)
}

// apiServer answers what a round asks of one: a Secret, and yes to what is saved.
func apiServer(b *testing.B) client.Client {
	b.Helper()
	var saved atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/status") {
			saved.Add(1)
			_, _ = w.Write([]byte(`{"apiVersion": "infra.homecluster.dev/v2alpha1", "kind": "Node", "metadata": {"name": "a"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc", "resourceVersion": "7"},
			"data": {"username": "YWRtaW4=", "password": "c2VjcmV0"}}`))
	}))
	b.Cleanup(api.Close)
	b.Cleanup(func() {
		if saved.Load() == 0 {
			b.Error("nothing was saved")
		}
	})
	scheme, err := kube.NewScheme()
	if err != nil {
		b.Fatal(err)
	}
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(v2.GroupVersion.WithKind("Node"), meta.RESTScopeNamespace)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	// Its own limit on requests would be what is measured.
	c, err := client.New(&rest.Config{Host: api.URL, QPS: -1}, client.Options{Scheme: scheme, Mapper: kinds})
	if err != nil {
		b.Fatal(err)
	}
	return c
}
