package manager

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"homecluster.dev/autoscaler/internal/config"
)

// The manager asks for exactly what the manifests grant. Core events are not asked for, since a manager can start without
// them: leader election writes them, and a Job's lack of a pod is explained in them.
func TestTheRightsAskedForAreThoseGranted(t *testing.T) {
	source, err := os.ReadFile("rights.go")
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	marker := regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=([^,]*),(?:namespace=[^,]*,)?resources=([^,]*),(?:resourceNames=[^,]*,)?verbs=(.*)$`)
	markers := marker.FindAllStringSubmatch(string(source), -1)
	for _, m := range markers {
		for _, resource := range strings.Split(m[2], ";") {
			for _, verb := range strings.Split(m[3], ";") {
				granted[verb+" "+strings.TrimSuffix(resource+"."+strings.Trim(m[1], `"`), ".")] = true
			}
		}
	}
	if want := strings.Count(string(source), "+kubebuilder:rbac:"); len(markers) != want {
		t.Fatalf("%d of %d markers can be read", len(markers), want)
	}
	asked := map[string]bool{}
	for _, right := range lacking((&look{config: everything()}).rights(), nil) {
		asked[right] = true
	}
	for _, unasked := range []string{"create events", "patch events", "list events", "get namespaces"} {
		if !granted[unasked] {
			t.Errorf("not granted: %s", unasked)
		}
		delete(granted, unasked)
	}
	if diff := cmp.Diff(granted, asked); diff != "" {
		t.Error(diff)
	}
}

// everything is a configuration that needs every right.
func everything() config.Config {
	return config.Config{
		LeaderElection: config.LeaderElection{Enabled: true}, MetricsAddress: ":8080", Webhook: config.Webhook{Address: ":9443", Configuration: "homelab-autoscaler"},
		TLS: config.TLS{Secret: "homelab-autoscaler-certs"},
	}
}

// A port that is off, or whose certificate somebody else keeps, needs no right.
func TestNoRightIsAskedForThatNoPortNeeds(t *testing.T) {
	all := len((&look{config: everything()}).rights())
	for name, test := range map[string]struct {
		change func(*config.Config)
		fewer  int
	}{
		"no election":                         {func(c *config.Config) { c.LeaderElection.Enabled = false }, 1},
		"no webhook":                          {func(c *config.Config) { c.Webhook.Address = config.Off }, 2},
		"no configuration":                    {func(c *config.Config) { c.Webhook.Configuration = "" }, 2},
		"plaintext metrics":                   {func(c *config.Config) { c.MetricsInsecure = true }, 2},
		"a certificate from files":            {func(c *config.Config) { c.TLS.CertFile = "/c" }, 4},
		"neither webhook nor guarded metrics": {func(c *config.Config) { c.Webhook.Address, c.MetricsInsecure = "", true }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			c := everything()
			test.change(&c)
			if got := len((&look{config: c}).rights()); got != all-test.fewer {
				t.Errorf("%d rights, want %d", got, all-test.fewer)
			}
		})
	}
}

func TestLacking(t *testing.T) {
	jobs := []right{{group: "batch", resource: "jobs", verbs: []string{"get", "create"}}}
	evictions := []right{{resource: "pods/eviction", verbs: []string{"create"}}}
	ours := []right{{resource: "secrets", verbs: []string{"get"}, name: "ours"}}
	rule := func(groups, resources, verbs string, names ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","),
			Verbs: strings.Split(verbs, ","), ResourceNames: names}
	}
	for name, test := range map[string]struct {
		rights []right
		rules  []authorizationv1.ResourceRule
		want   []string
	}{
		"no rules at all":                          {jobs, nil, []string{"get jobs.batch", "create jobs.batch"}},
		"one rule for all verbs":                   {jobs, []authorizationv1.ResourceRule{rule("batch", "jobs", "get,list,create")}, nil},
		"a rule for each verb":                     {jobs, []authorizationv1.ResourceRule{rule("batch", "jobs", "get"), rule("batch", "jobs", "create")}, nil},
		"an administrator":                         {append(jobs, evictions...), []authorizationv1.ResourceRule{rule("*", "*", "*")}, nil},
		"another group":                            {jobs, []authorizationv1.ResourceRule{rule("apps", "jobs", "*")}, []string{"get jobs.batch", "create jobs.batch"}},
		"one verb short":                           {jobs, []authorizationv1.ResourceRule{rule("batch", "jobs", "get")}, []string{"create jobs.batch"}},
		"only one object of the kind":              {jobs, []authorizationv1.ResourceRule{rule("batch", "jobs", "*", "mine")}, []string{"get jobs.batch", "create jobs.batch"}},
		"the one object it is about":               {ours, []authorizationv1.ResourceRule{rule("", "secrets", "get", "other", "ours")}, nil},
		"another object":                           {ours, []authorizationv1.ResourceRule{rule("", "secrets", "get", "other")}, []string{"get secrets"}},
		"all objects, where one is asked for":      {ours, []authorizationv1.ResourceRule{rule("", "secrets", "get")}, nil},
		"a resource is not its subresource":        {evictions, []authorizationv1.ResourceRule{rule("", "pods", "*")}, []string{"create pods/eviction"}},
		"every subresource of the kind":            {evictions, []authorizationv1.ResourceRule{rule("", "pods/*", "*")}, nil},
		"the subresource of every kind":            {evictions, []authorizationv1.ResourceRule{rule("", "*/eviction", "create")}, nil},
		"a subresource of every kind, but another": {evictions, []authorizationv1.ResourceRule{rule("", "*/status", "create")}, []string{"create pods/eviction"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lacking(test.rights, test.rules); !slices.Equal(got, test.want) {
				t.Errorf("missing %q, want %q", got, test.want)
			}
		})
	}
}
