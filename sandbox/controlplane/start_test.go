package controlplane_test

import (
	"os"
	"testing"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)



func TestStart(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.Stop(); err != nil {
		t.Fatal(err)
	}
}
