package upgrade_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// What convert writes is taken under our definitions, without an unknown field, unless it said that it would not be.
func TestWhatIsConvertedIsTakenStrictly(t *testing.T) {
	h := newHome(t)
	h.must(t, "kubectl apply --server-side -f config/crd/bases && kubectl wait --for=condition=Established crd --all")
	h.must(t, "kubectl create namespace "+namespace)
	files, err := filepath.Glob("../../internal/convert/testdata/*.in.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		const create = " | kubectl create -n " + namespace + " --validate=strict --dry-run=server -f -"
		if filepath.Base(file) != "odd.in.yaml" {
			h.must(t, "homelab-autoscaler convert <"+path+create)
			continue
		}
		// It has two objects that convert complains of, and these two are refused.
		out, _ := h.sh(t, "(homelab-autoscaler convert <"+path+" 2>/dev/null || true)"+create)
		for _, want := range []string{"secret/worker-03-bmc created", "group.infra.homecluster.dev/garage created", "node.infra.homecluster.dev/worker-03 created",
			`"worker-04" is invalid`, "group.infra.homecluster.dev/new created", `no matches for kind "Pool"`} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not said of\n%s", want, out)
			}
		}
	}
	h.must(t, "homelab-autoscaler convert <"+abs(t, "testdata/pool.v1alpha1.yaml")+" | kubectl create --validate=strict -f -")
	h.works(t)
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
