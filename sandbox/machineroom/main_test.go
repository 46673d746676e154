package machineroom

import (
	"testing"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

func TestMain(m *testing.M) {
	ServePowerCommand()
	controlplane.Main(m)
}
