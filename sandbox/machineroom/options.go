package machineroom

import (
	"log/slog"
	"os"
	"time"
)

// Options shape a room. The zero value works.
type Options struct {
	// Dir is the sandbox's folder for the room: power.jsonl, which is appended to, and a folder per pod that executes.
	// Default: a temporary folder that Stop removes.
	Dir string
	// BootTime and ShutdownTime are those of machines that name none. Defaults: 3 s and 1 s.
	BootTime, ShutdownTime time.Duration
	// LeaseInterval and StatusInterval are how often a kubelet renews its Lease and compares its status.
	LeaseInterval, StatusInterval time.Duration
	// PowerCommand is the command line that PowerCommand serves, to which a slot's pods add an action and an address:
	// for the sandbox's binary its path and the name of the subcommand. Default: this very binary, run again, for which
	// its main or TestMain must begin with ServePowerCommand.
	PowerCommand []string
	// Images are images that really run on an always-on node, with their command lines, where a container has no command of
	// its own. All others sleep.
	Images map[string][]string
	// Address is where their pods are reached, which share this host's network: what the API server is to call must not be
	// on loopback. Default: an address that leads nowhere.
	Address string
	// Log takes what the kubelets meet on their way. Default: nothing.
	Log *slog.Logger

	// rerun says that PowerCommand is this very binary.
	rerun bool
}

func (o Options) withDefaults() (Options, error) {
	fill(&o.BootTime, 3*time.Second)
	fill(&o.ShutdownTime, time.Second)
	fill(&o.LeaseInterval, time.Second)
	fill(&o.StatusInterval, 2*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.PowerCommand) > 0 {
		return o, nil
	}
	if !served.Load() {
		return o, errNotServed
	}
	self, err := os.Executable()
	o.PowerCommand, o.rerun = []string{self}, true
	return o, err
}

func fill(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}
