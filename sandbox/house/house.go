package house

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// Main is the TestMain of a package whose tests want a House. At most parallel cases run at once: they wait for machines,
// not for a CPU, so that it may be more than there are CPUs.
func Main(m *testing.M, parallel int) {
	machineroom.ServePowerCommand()
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		panic(err)
	}
	controlplane.Main(m)
}

// House is one cluster, and one machine room with the node that runs the power Jobs.
type House struct {
	ControlPlane *controlplane.ControlPlane
	Room         *machineroom.Room
}

// New opens the house for a test and the cases in it.
func New(t testing.TB) *House {
	t.Helper()
	h := Vacant(t)
	if err := h.Room.AddAlwaysOn("infra"); err != nil {
		t.Fatal(err)
	}
	return h
}

// Vacant opens a house without a node that runs the power Jobs: whoever wants another than the room's brings it.
func Vacant(t testing.TB) *House {
	t.Helper()
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
	return &House{ControlPlane: cp, Room: room}
}
