package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
)

// unreadable is an API server that does not answer. What one that does is told about is in the sandbox.
type unreadable struct{}

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no route to host")
}

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no route to host")
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// ask asks at a path about the creation of an object in a namespace.
func ask(t *testing.T, path, namespace, object string) *admissionv1.AdmissionResponse {
	t.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := Handler(Config{Namespace: "home", Scheme: scheme, Live: kube.NewLive(unreadable{}), Clock: clock.NewFakePassiveClock(noon), Policy: policy.Default()})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "u", Namespace: namespace, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(object)},
		UserInfo: authenticationv1.UserInfo{Username: "alice"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("answered %d %q: %v", recorder.Code, recorder.Body, err)
	}
	return review.Response
}

func object(kind, namespace, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"infra.homecluster.dev/v2alpha1","kind":%q,"metadata":{"name":"x","namespace":%q},"spec":%s}`, kind, namespace, spec)
}

const (
	goodClaim = `{"slotRef":{"name":"a"},"request":{"call":"IncreaseSize","group":"g"}}`
	goodSlot  = `{"kubernetesNodeName":"a","startupPodSpec":{"image":"i"},"shutdownPodSpec":{"image":"i"}}`
)

func TestWhatCannotBeJudgedPassesAndSaysSo(t *testing.T) {
	const unjudged, elsewhere = "passes unjudged: ", "serves namespace home: in abroad nothing will come of this object"
	for name, test := range map[string]struct {
		path, kind, namespace, spec, want string
	}{
		"a claim":                {PathValidateClaim, "NodeClaim", "home", goodClaim, unjudged},
		"a slot":                 {PathValidateSlot, "Node", "home", goodSlot, unjudged},
		"a group":                {PathValidateGroup, "Group", "home", `{}`, unjudged},
		"a claim somewhere else": {PathValidateClaim, "NodeClaim", "abroad", goodClaim, elsewhere},
		"a slot somewhere else":  {PathValidateSlot, "Node", "abroad", goodSlot, elsewhere},
		"a group somewhere else": {PathValidateGroup, "Group", "abroad", `{"minSize":-1}`, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, test.path, test.namespace, object(test.kind, test.namespace, test.spec))
			if !answer.Allowed {
				t.Errorf("refused: %v", answer.Result)
			}
			if len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], test.want) {
				t.Errorf("warned of %q, want %q", answer.Warnings, test.want)
			}
		})
	}
}

func TestWhatIsWrongByItselfIsRefusedWithoutALook(t *testing.T) {
	for name, test := range map[string]struct{ path, kind, spec, want string }{
		"a claim": {PathValidateClaim, "NodeClaim", `{"slotRef":{"name":"a"},"request":{"call":"Jump","group":"g"}}`, "spec.request.call"},
		"a slot":  {PathValidateSlot, "Node", strings.Replace(goodSlot, `"a"`, `"A B"`, 1), "spec.kubernetesNodeName"},
		"a group": {PathValidateGroup, "Group", `{"minSize":-1}`, "spec.minSize"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, test.path, "home", object(test.kind, "home", test.spec))
			if answer.Allowed || !strings.Contains(answer.Result.Message, test.want) {
				t.Errorf("allowed %t: %v", answer.Allowed, answer.Result)
			}
		})
	}
}

// The patch adds and replaces nothing, however the claim is spelled.
func TestACompletedClaimKeepsWhatItSays(t *testing.T) {
	answer := ask(t, PathDefaultClaim, "home", object("NodeClaim", "home", `{"slotRef":{"name":"a"},"request":{"call":"IncreaseSize","group":"g"},"maxNodeProvisionTime":"20m","unknown":1}`))
	var patch []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(answer.Patch, &patch); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, change := range patch {
		got = append(got, fmt.Sprint(change.Op, " ", change.Path, " ", change.Value))
	}
	slices.Sort(got)
	want := []string{
		"add /metadata/labels map[group:g infra.homecluster.dev/node:a]",
		"add /spec/deadlineAt 2026-03-04T12:20:00Z",
		"add /spec/requestedAt 2026-03-04T12:00:00Z",
		"add /spec/requestedBy alice",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The schema says what is wrong with these, with a path.
func TestAnUnreadableClaimIsLeftToTheSchema(t *testing.T) {
	for name, claim := range map[string]string{
		"no slot":        object("NodeClaim", "home", `{"request":{"call":"IncreaseSize","group":"g"}}`),
		"no spec":        `{"apiVersion":"infra.homecluster.dev/v2alpha1","kind":"NodeClaim","metadata":{"name":"x"}}`,
		"the wrong type": object("NodeClaim", "home", `{"slotRef":1}`),
		"somewhere else": object("NodeClaim", "abroad", goodClaim),
	} {
		t.Run(name, func(t *testing.T) {
			namespace := "home"
			if name == "somewhere else" {
				namespace = "abroad"
			}
			if answer := ask(t, PathDefaultClaim, namespace, claim); !answer.Allowed || len(answer.Patch) > 0 {
				t.Errorf("allowed %t, patch %s", answer.Allowed, answer.Patch)
			}
		})
	}
}
