package proxy

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsAreReadAsWrites(t *testing.T) {
	tests := map[string]struct {
		method, target, body string
		want                 Write
		no                   bool
	}{
		"a new Job in a namespace": {
			method: "POST", target: "/apis/batch/v1/namespaces/house/jobs", body: `{"metadata":{"name":"slot-1-up-1"}}`,
			want: Write{Verb: "create", Group: "batch", Resource: "jobs", Namespace: "house", Name: "slot-1-up-1"},
		},
		"the status of one of ours": {
			method: "PATCH", target: "/apis/infra.homecluster.dev/v2alpha1/namespaces/house/nodeclaims/c-1/status",
			want: Write{
				Verb: "patch", Group: "infra.homecluster.dev", Resource: "nodeclaims/status", Namespace: "house", Name: "c-1",
			},
		},
		"an eviction": {
			method: "POST", target: "/api/v1/namespaces/shop/pods/web-1/eviction", body: `{"metadata":{"name":"web-1"}}`,
			want: Write{Verb: "create", Resource: "pods/eviction", Namespace: "shop", Name: "web-1"},
		},
		"the end of a kubeNode": {
			method: "DELETE", target: "/api/v1/nodes/worker-1",
			want: Write{Verb: "delete", Resource: "nodes", Name: "worker-1"},
		},
		"a namespace itself": {
			method: "PUT", target: "/api/v1/namespaces/house",
			want: Write{Verb: "update", Resource: "namespaces", Name: "house"},
		},
		"a namespace's own subresource": {
			method: "PUT", target: "/api/v1/namespaces/house/finalize",
			want: Write{Verb: "update", Resource: "namespaces/finalize", Name: "house"},
		},
		"all of a kind": {
			method: "DELETE", target: "/api/v1/namespaces/house/pods?labelSelector=a%3Db",
			want: Write{Verb: "deletecollection", Resource: "pods", Namespace: "house"},
		},
		"a new object in an encoding that nobody reads": {
			method: "POST", target: "/api/v1/namespaces/house/pods", body: "k8s\x00?",
			want: Write{Verb: "create", Resource: "pods", Namespace: "house"},
		},
		"a read":                {method: "GET", target: "/api/v1/nodes", no: true},
		"a watch":               {method: "GET", target: "/api/v1/nodes?watch=true", no: true},
		"a dry run":             {method: "POST", target: "/api/v1/nodes?dryRun=All", no: true},
		"a question of rights":  {method: "POST", target: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", no: true},
		"something not stored":  {method: "POST", target: "/version", no: true},
		"a group without kinds": {method: "POST", target: "/apis/batch/v1", no: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), test.method, test.target, strings.NewReader(test.body))
			got, is := readWrite(request)
			if is == test.no {
				t.Fatalf("read as a write: %v", is)
			}
			if diff := cmp.Diff(test.want, got); is && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var left strings.Builder
			if err := request.Write(&left); err != nil || !strings.HasSuffix(left.String(), test.body) {
				t.Errorf("the body is gone: %q, %v", left.String(), err)
			}
		})
	}
}

func TestRefusalsHaveTheReasonOfTheirStatus(t *testing.T) {
	for code, reason := range reasons {
		if got := status(code, "why"); got.Reason != reason || int(got.Code) != code {
			t.Errorf("%s: %v", http.StatusText(code), got)
		}
	}
	if got := status(http.StatusTeapot, "why"); got.Reason != "" {
		t.Errorf("an odd status has reason %q", got.Reason)
	}
}
