package upgrade_test

import (
	"encoding/json"
	"testing"

	"homecluster.dev/autoscaler/internal/preflight"
)

// report runs preflight and reads what it says.
func (h *home) report(t *testing.T) preflight.Report {
	t.Helper()
	out, code := h.sh(t, "homelab-autoscaler preflight -o json")
	var report preflight.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("exit code %d: %v", code, err)
	}
	if want := map[preflight.Verdict]int{preflight.Ready: 0, preflight.Unknown: 1, preflight.Blocked: 3}[report.Verdict]; code != want {
		t.Errorf("%s exits with %d, want %d", report.Verdict, code, want)
	}
	return report
}
