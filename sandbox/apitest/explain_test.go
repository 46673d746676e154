package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
}

// published reads our kinds from what the API server publishes; an error says what is not there yet.
func published(ctx context.Context, client discovery.DiscoveryInterface, kinds map[string]schema) error {
	raw, err := client.RESTClient().Get().AbsPath("/openapi/v3/apis/infra.homecluster.dev/v2alpha1").DoRaw(ctx)
	if err != nil {
		return err
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return err
	}
	for name, published := range document.Components.Schemas {
		kinds[name[strings.LastIndex(name, ".")+1:]] = published
	}
	for _, kind := range []string{"Group", "Node", "NodeClaim"} {
		if kinds[kind].Description == "" {
			return fmt.Errorf("%s is not there", kind)
		}
	}
	return nil
}

// kubectl explain reads what the API server publishes, some moments after the CRDs are installed.
func TestExplainHasSomethingToSay(t *testing.T) {
	cp := controlplane.ForTest(t)
	kinds := map[string]schema{}
	client, err := discovery.NewDiscoveryClientForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = published(ctx, client, kinds)
		return last == nil, nil
	}); err != nil {
		t.Fatalf("waiting for the kinds to be published: %v (%v)", err, last)
	}
	tests := map[string]struct {
		kind, want string
		path       []string
	}{
		"a claim":             {"NodeClaim", "exactly while a live, unmarked claim names its slot", nil},
		"a claim's spec":      {"NodeClaim", "one request for one machine", []string{"spec"}},
		"a claim's phase":     {"NodeClaim", "an absent phase", []string{"status", "phase"}},
		"a slot":              {"Node", "the configuration of one physical machine", nil},
		"a slot's power":      {"Node", "away from slots", []string{"spec", "startupPodSpec"}},
		"a group's timeouts":  {"Group", "12m10s", []string{"spec", "maxNodeProvisionTime"}},
		"a group's unclaimed": {"Group", "Default Shutdown", []string{"spec", "unclaimedMachines"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at := kinds[tt.kind]
			for _, field := range tt.path {
				at = at.Properties[field]
			}
			if !strings.Contains(at.Description, tt.want) {
				t.Errorf("want something about %q in: %s", tt.want, at.Description)
			}
		})
	}
}

// What kubectl get prints is made by the API server.
func TestGetPrintsTheColumns(t *testing.T) {
	c, namespace := server(t)
	claim := manual(namespace)
	claim.Spec.RequestedBy = "alice"
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(controlplane.ForTest(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := client.RESTClient().Get().AbsPath("/apis/infra.homecluster.dev/v2alpha1/namespaces", namespace, "nodeclaims").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want one", len(table.Rows))
	}
	printed := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		if column.Name != "Age" {
			printed[column.Name] = table.Rows[0].Cells[i]
		}
	}
	want := map[string]any{
		"Name": claim.Name, "Slot": "worker-01", "Group": "pool", "Phase": nil, "Attempt": nil, "Reason": nil, "Requested-By": "alice",
		"Deadline": nil, "Call": "IncreaseSize", "Ready-At": nil, "Finished": nil,
	}
	if diff := cmp.Diff(want, printed); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}
