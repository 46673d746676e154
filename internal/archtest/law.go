// Package archtest is the import law of the main module as a test: which package may import which, who may read a clock,
// and which names and habits are not wanted. Each rule carries its reason, and a violation prints it.
//
// Three kinds of rule need three ways of looking:
//
//   - Between our own packages the law is an allow-list of direct imports (layers). Since every package is held to it, what
//     it allows directly is also all that can be reached; a package without a row is refused until somebody decides where
//     it belongs.
//   - Foreign packages that carry machinery (clients, gRPC) are forbidden to the pure packages transitively, through
//     whatever is between, and the chain of imports is printed.
//   - Of the standard library and of clocks only direct use in our own sources is judged: apimachinery itself imports net,
//     os and context, and nothing of that is called by a core that does not name them.
//
// Sources are held to everything; tests only to what is said of them at the rule. The sandbox is another module and may
// import all of this one.
package archtest

// Module is the path of the main module.
const Module = "homecluster.dev/autoscaler"

// layer says which packages of ours the packages that match From may import. Patterns are relative to Module, and a
// trailing /... takes in the folder itself. From's own subtree, up to the star, is always allowed.
type layer struct {
	from string
	may  []string
	why  string
}

// layers is the direction of imports, from the bottom up. A package belongs to the first row that matches it.
var layers = []layer{
	{"api/...", nil, "the API is imported by everybody, other projects included, and drags nothing of ours along"},
	{"proto/...", nil, "generated code stands alone"},
	{"config/...", nil, "manifests stand alone"},
	{"internal/archtest", nil, "the judge depends on nobody"},
	{"hack/...", []string{"api/...", "config/...", "internal/core/..."}, "what writes documentation reads what is pure"},
	{"internal/core/...", []string{"api/..."}, "the core decides; it knows neither who observes for it nor who acts"},
	{"internal/power/...", nil, "the power program runs in a Job beside the operator: it knows protocols, and neither knows the other's code"},
	{"internal/schema", []string{"config/..."}, "schemas are compared for whoever asks, cluster or manifest"},
	{"internal/kube", []string{"api/...", "internal/core/..."}, "kube writes objects for everybody and knows none of its callers"},
	{"internal/metrics", []string{"api/...", "internal/core/..."}, "metrics are recorded by all and know none of them"},
	{"internal/config", []string{"api/...", "internal/core/..."}, "flags are read before anything is built from them"},
	{"internal/certs", []string{"api/...", "internal/core/...", "internal/kube"}, "certificates are kept for every port and know none of them"},
	{"internal/controller/*/...", below, "controllers, provider and webhook meet on the API server, never in Go"},
	{"internal/provider/...", append([]string{"proto/..."}, below...), "controllers, provider and webhook meet on the API server, never in Go"},
	{"internal/webhook/...", below, "controllers, provider and webhook meet on the API server, never in Go"},
	{"internal/observer/...", append([]string{"internal/power/..."}, below...), "the power observer speaks to switches and to the API server alone"},
	{"internal/manager/...", managed, "the composition root builds everything below it"},
	{"cmd/power-observer", []string{"internal/config", "internal/observer/..."}, "the power observer is a program of its own: what breaks in it is a reading"},
	{"cmd/power", []string{"internal/power/..."}, "the power program is small and starts at once: it takes nothing of the operator along"},
	{"internal/plugin/...", []string{"api/...", "internal/core/...", "internal/kube"}, "the plugin is a person's hand: it meets the operator on the API server"},
	{"cmd/kubectl-homelab", []string{"internal/plugin/..."}, "the plugin is a program of its own"},
	{"internal/convert", []string{"api/...", "config/...", "internal/core/...", "internal/schema"}, "manifests are converted as text, without a cluster"},
	{"internal/preflight", []string{"api/...", "internal/core/...", "internal/kube", "internal/schema"}, "preflight reads a cluster without a manager of ours"},
	{"internal/quiesce", []string{"api/...", "internal/core/...", "internal/kube"}, "quiesce ends what a manager began, and works where there is none"},
	{"cmd/homelab-autoscaler", []string{"internal/config", "internal/manager/...", "internal/kube", "internal/convert", "internal/preflight", "internal/quiesce"},
		"main turns flags into a manager and runs it, or one of its commands"},
	{"cmd/...", []string{"api/...", "internal/config", "internal/manager/..."}, "main turns flags into a manager and runs it"},
}

// below is what the three kinds of actor stand on.
var below = []string{"api/...", "internal/core/...", "internal/kube", "internal/metrics", "internal/config", "internal/certs"}

// managed is everything of ours but the power program, whose credentials and protocols stay out of the manager's process.
var managed = []string{
	"api/...", "proto/...", "config/...", "internal/core/...", "internal/kube", "internal/metrics", "internal/config", "internal/certs",
	"internal/schema", "internal/controller/...", "internal/provider/...", "internal/webhook/...",
}

// ban forbids packages that match From to import what matches Imports.
type ban struct {
	from    string
	imports []string
	// transitive looks through every package between; otherwise only the sources of From are judged.
	transitive bool
	// tests holds the tests of From to it as well.
	tests bool
	why   string
}

var bans = []ban{
	{
		from: "internal/core/...", transitive: true,
		imports: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/...", "google.golang.org/grpc/..."},
		why:     "the core is pure: it reads an Input and answers a Decision, so it has nobody to call",
	},
	{
		from: "internal/core/...",
		imports: []string{
			"context", "os/...", "net/...", "log/...", "syscall", "runtime/...", "sync/...", "math/rand/...", "crypto/rand",
			"k8s.io/utils/clock/...", "k8s.io/klog/...",
		},
		why: "the core is pure: no I/O, no clock, no log, no randomness and no goroutine, so that a decision can be replayed",
	},
	{
		from: "internal/power/...", transitive: true,
		imports: []string{"k8s.io/...", "sigs.k8s.io/...", "google.golang.org/grpc/..."},
		why:     "the power program is one small static file that starts in milliseconds; a Kubernetes client is neither",
	},
	{
		from: "api/...", transitive: true,
		imports: []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/...", "google.golang.org/grpc/..."},
		why:     "whoever imports the API gets types, not a client",
	},
	{
		from: "...", tests: true, imports: []string{Module + "/sandbox/..."},
		why: "the sandbox is a nested module that stands on this one; tests that need it live there",
	},
	{
		from: "...", tests: true,
		imports: []string{
			"k8s.io/client-go/kubernetes/fake", "k8s.io/client-go/dynamic/fake", "sigs.k8s.io/controller-runtime/pkg/client/fake",
			"sigs.k8s.io/controller-runtime/pkg/envtest/...",
		},
		why: "a fake that pretends to be an API server proves nothing; the real one runs in the sandbox's tests",
	},
}

// onlyAPI is the whole of what api may import directly beyond the standard library.
var onlyAPI = []string{"k8s.io/api/...", "k8s.io/apimachinery/..."}

// clocks are the names that read a clock or wait on one, by package. Time arithmetic is free.
var clocks = map[string][]string{
	"time":                                 {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
	"k8s.io/utils/clock":                   {"RealClock"},
}

const (
	// timelessTests are held to the clock rule even in tests: a table of decisions that depends on today fails tomorrow.
	// Other tests bound real sockets and goroutines, for which a real clock is right.
	timelessTests = "internal/core/..."
	clockWhy      = "the real clock lives in internal/kube, and in internal/power/process for the program that has no kube, and is handed " +
		"down, so that tests step a fake one"
)

// clockHomes are the packages that may read a clock: one for each program.
var clockHomes = []string{"internal/kube", "internal/power/process"}

// unnamed are package names that say nothing about what is inside, and collect whatever has no home.
var unnamed = []string{"util", "utils", "common", "helper", "helpers", "pkg", "misc", "shared", "base"}
