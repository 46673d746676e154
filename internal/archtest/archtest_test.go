package archtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// root is the folder of the main module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheTreeKeepsTheLaw(t *testing.T) {
	found, err := Load(root(t), nil, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("only %d packages were found: the law is judging thin air", len(found))
	}
	for _, p := range found {
		for _, fault := range p.Errors {
			t.Errorf("%s: %v", p.Rel, fault)
		}
	}
	for _, violation := range Judge(found) {
		t.Error(violation)
	}
}

// Each case plants files into the tree, without touching it, and says what the law must answer.
func TestAPlantedViolationIsFoundWithItsReason(t *testing.T) {
	tests := map[string]struct {
		plant map[string]string
		where string
		what  string
		why   string
	}{
		"a client in the core": {
			plant: map[string]string{"internal/core/planted/x.go": `package planted
				import _ "k8s.io/client-go/rest"`},
			where: "internal/core/planted/x.go", what: "imports k8s.io/client-go/rest", why: "the core is pure",
		},
		"a client in the core, behind a package of ours": {
			plant: map[string]string{
				"internal/core/planted/x.go": `package planted
					import _ "homecluster.dev/autoscaler/internal/core/planted/deeper"`,
				"internal/core/planted/deeper/x.go": `package deeper
					import _ "google.golang.org/grpc/codes"`,
			},
			where: "internal/core/planted",
			what:  Module + "/internal/core/planted → " + Module + "/internal/core/planted/deeper → google.golang.org/grpc/codes",
			why:   "the core is pure",
		},
		"a log in the core": {
			plant: map[string]string{"internal/core/planted/x.go": `package planted
				import _ "log/slog"`},
			where: "internal/core/planted/x.go", what: "imports log/slog", why: "can be replayed",
		},
		"one controller importing another": {
			plant: map[string]string{
				"internal/controller/planted/x.go": `package planted
					import _ "homecluster.dev/autoscaler/internal/controller/other"`,
				"internal/controller/other/x.go": `package other`,
			},
			where: "internal/controller/planted/x.go", what: "imports internal/controller/other", why: "never in Go",
		},
		"the webhook importing the provider, in a test": {
			plant: map[string]string{
				"internal/webhook/planted/x.go": `package planted`,
				"internal/webhook/planted/x_test.go": `package planted
					import _ "homecluster.dev/autoscaler/internal/provider/planted"`,
				"internal/provider/planted/x.go": `package planted`,
			},
			where: "internal/webhook/planted/x_test.go", what: "imports internal/provider/planted", why: "never in Go",
		},
		"the core importing a controller": {
			plant: map[string]string{
				"internal/core/planted/x.go": `package planted
					import _ "homecluster.dev/autoscaler/internal/controller/other"`,
				"internal/controller/other/x.go": `package other`,
			},
			where: "internal/core/planted/x.go", what: "imports internal/controller/other", why: "nor who acts",
		},
		"a clock outside kube": {
			plant: map[string]string{"internal/provider/planted/x.go": `package planted
				import "time"
				var started = time.Now()`},
			where: "internal/provider/planted/x.go", what: "uses time.Now", why: "the real clock lives in internal/kube",
		},
		"a clock handed on as a value, under another name": {
			plant: map[string]string{"internal/provider/planted/x.go": `package planted
				import sun "time"
				var wait = sun.Sleep`},
			where: "internal/provider/planted/x.go", what: "uses sun.Sleep", why: "the real clock lives in internal/kube",
		},
		"the API server's idea of now": {
			plant: map[string]string{"internal/provider/planted/x.go": `package planted
				import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
				var started = metav1.Now()`},
			where: "internal/provider/planted/x.go", what: "uses metav1.Now", why: "the real clock lives in internal/kube",
		},
		"the API on a third leg": {
			plant: map[string]string{"api/planted/x.go": `package planted
				import _ "k8s.io/utils/ptr"`},
			where: "api/planted/x.go", what: "imports k8s.io/utils/ptr", why: "stands on k8s.io/api and k8s.io/apimachinery alone",
		},
		"the main module standing on the sandbox": {
			plant: map[string]string{"internal/manager/planted/x.go": `package planted
				import _ "homecluster.dev/autoscaler/sandbox/controlplane"`},
			where: "internal/manager/planted/x.go", what: "imports " + Module + "/sandbox/controlplane", why: "nested module",
		},
		"the power program taking the operator along": {
			plant: map[string]string{"internal/power/planted/x.go": `package planted
				import _ "homecluster.dev/autoscaler/internal/core/policy"`},
			where: "internal/power/planted/x.go", what: "imports internal/core/policy", why: "beside the operator",
		},
		"the power program with a Kubernetes client": {
			plant: map[string]string{"internal/power/planted/x.go": `package planted
				import _ "k8s.io/client-go/rest"`},
			where: "internal/power/planted/x.go", what: "imports k8s.io/client-go/rest", why: "starts in milliseconds",
		},
		"the manager with the protocols of switches": {
			plant: map[string]string{"internal/manager/planted/x.go": `package planted
				import _ "homecluster.dev/autoscaler/internal/power/ipmi"`},
			where: "internal/manager/planted/x.go", what: "imports internal/power/ipmi", why: "composition root",
		},
		"the power program's protocols with a clock of their own": {
			plant: map[string]string{"internal/power/planted/x.go": `package planted
				import "time"
				var started = time.Now()`},
			where: "internal/power/planted/x.go", what: "uses time.Now", why: "in internal/power/process for the program that has no kube",
		},
		"a package that nobody placed": {
			plant: map[string]string{"internal/planted/x.go": `package planted`},
			where: "internal/planted", what: "has no row", why: "decide first",
		},
		"a name without a meaning": {
			plant: map[string]string{"internal/provider/util/x.go": `package util`},
			where: "internal/provider/util", what: "is called util", why: "collects what has no home",
		},
		"work done by importing": {
			plant: map[string]string{"internal/provider/planted/x.go": `package planted
				func init() {}`},
			where: "internal/provider/planted/x.go", what: "has an init function", why: "importing a package does nothing",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overlay, patterns := map[string][]byte{}, []string{}
			for file, source := range tt.plant {
				overlay[filepath.Join(root(t), file)] = []byte(source)
				patterns = append(patterns, "./"+filepath.Dir(file))
			}
			found, err := Load(root(t), overlay, patterns...)
			if err != nil {
				t.Fatal(err)
			}
			violations := Judge(found)
			for _, v := range violations {
				if v.Where == tt.where && strings.Contains(v.What, tt.what) && strings.Contains(v.Why, tt.why) {
					return
				}
			}
			t.Errorf("not found: %s %s, because %q; found: %v", tt.where, tt.what, tt.why, violations)
		})
	}
}

// What is written as the law wants it must pass, or the rules could refuse everything.
func TestAnInnocentPackagePasses(t *testing.T) {
	overlay := map[string][]byte{
		filepath.Join(root(t), "internal/core/planted/x.go"): []byte(`package planted
			import (
				"time"
				v2 "homecluster.dev/autoscaler/api/v2alpha1"
				metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
			)
			type Late struct{ Claim *v2.NodeClaim }
			func (l Late) At(now time.Time) metav1.Time { return metav1.NewTime(now.Add(time.Minute)) }`),
	}
	found, err := Load(root(t), overlay, "./internal/core/planted")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%d packages were loaded, want the planted one", len(found))
	}
	for _, violation := range Judge(found) {
		t.Error(violation)
	}
}

func TestPatterns(t *testing.T) {
	tests := map[string]struct {
		path, pattern string
		want          bool
	}{
		"a folder is in its own tree":           {"internal/core", "internal/core/...", true},
		"so is what is below it":                {"internal/core/slot", "internal/core/...", true},
		"a longer name is another folder":       {"internal/corex", "internal/core/...", false},
		"without a tree only the folder itself": {"internal/kube/x", "internal/kube", false},
		"a star is one element":                 {"internal/controller/slot/deep", "internal/controller/*/...", true},
		"a star is not none":                    {"internal/controller", "internal/controller/*/...", false},
		"a foreign path has a host":             {"k8s.io/client-go/rest", "k8s.io/client-go/...", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matches(tt.path, tt.pattern); got != tt.want {
				t.Errorf("matches(%q, %q) = %v", tt.path, tt.pattern, got)
			}
		})
	}
}
