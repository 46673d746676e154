package rights

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// audited is where the API server writes what it was asked, a request a line.
var audited string

// The control plane begins without our kinds, which come with the chart. Its API server finds the pods behind a Service by
// itself, since nothing here routes a Service's address.
func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	ctrllog.SetLogger(logr.New(ctrllog.NullLogSink{}))            // the manager is another process
	folder, err := os.MkdirTemp("", "homelab-autoscaler-rights-") // the control plane's own, which it removes
	if err != nil {
		panic(err)
	}
	policy, err := filepath.Abs("testdata/audit.yaml")
	if err != nil {
		panic(err)
	}
	audited = filepath.Join(folder, "audit.log")
	controlplane.Main(m, controlplane.Options{Dir: folder, WithoutKinds: true, ExtraArgs: map[string][]string{
		controlplane.APIServer: {"--audit-policy-file=" + policy, "--audit-log-path=" + audited, "--audit-log-mode=blocking",
			"--enable-aggregator-routing"},
	}})
}
