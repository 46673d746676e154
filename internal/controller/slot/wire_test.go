package slot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
)

// wire writes down what is sent and answers with the object that was addressed, one version later. It knows no rule of
// an API server: what a real one makes of these requests is told by the tests of the sandbox.
type wire struct {
	sent    []string
	objects map[string]map[string]any
	version int
	// listed are the Jobs that a list of them answers.
	listed []any
	// refuse answers the n-th write, counted from 1, with status.
	refuse, status, writes int
	// exists makes that refusal an AlreadyExists.
	exists bool
	// meanwhile is what others do right after a write, by the beginning of its line.
	meanwhile map[string]func()
	// counted is what the committer counts.
	counted *prometheus.Registry
}

// ended is how many claims were counted as ended.
func (w *wire) ended(t *testing.T) int {
	t.Helper()
	families, err := w.counted.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if strings.HasSuffix(family.GetName(), "claims_finished_total") {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return int(sum)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimSuffix(r.URL.Path, "/status")
	object := w.objects[path]
	if r.Method == http.MethodGet {
		w.sent = append(w.sent, "read "+short(r.URL.Path))
		if path == jobs {
			return reply(http.StatusOK, map[string]any{"kind": "JobList", "apiVersion": "batch/v1", "items": w.listed})
		}
		if object == nil {
			return reply(http.StatusNotFound, status(http.StatusNotFound))
		}
		return reply(http.StatusOK, object)
	}
	var body map[string]any
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &body)
	}
	w.sent = append(w.sent, strings.ToLower(r.Method)+" "+short(r.URL.Path)+conditions(body)+fields(body))
	if w.writes++; w.writes == w.refuse {
		refusal := status(w.status)
		if w.exists {
			refusal["reason"] = metav1.StatusReasonAlreadyExists
		}
		return reply(w.status, refusal)
	}
	w.version++
	defer w.others(w.sent[len(w.sent)-1])
	if r.Method == http.MethodDelete {
		return reply(http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
	if object == nil {
		object = body
	}
	merge(object, body)
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(w.version)
	return reply(http.StatusOK, object)
}

// others do what they do after a write.
func (w *wire) others(line string) {
	for write, do := range w.meanwhile {
		if strings.HasPrefix(line, write) {
			do()
		}
	}
}

// short is the path from the resource on.
func short(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		switch part {
		case "nodeclaims", "nodes", "jobs", "pods", "groups":
			return strings.Join(parts[i:], "/")
		}
	}
	return path
}

// conditions are the preconditions of a write: those of a delete or an eviction, or the identity in a patch.
func conditions(body map[string]any) string {
	at, _ := body["metadata"].(map[string]any)
	if options, ok := body["deleteOptions"].(map[string]any); ok {
		body = options
	}
	if preconditions, ok := body["preconditions"].(map[string]any); ok {
		at = preconditions
	}
	text := ""
	for _, key := range []string{"uid", "resourceVersion"} {
		if at[key] != nil {
			text += fmt.Sprintf(" %s=%v", key, at[key])
		}
	}
	if body["propagationPolicy"] != nil {
		text += fmt.Sprintf(" %v", body["propagationPolicy"])
	}
	return text
}

func fields(body map[string]any) string {
	text := ""
	if m, ok := body["metadata"].(map[string]any); ok {
		if finalizers, ok := m["finalizers"]; ok {
			text += fmt.Sprintf(" finalizers=%v", finalizers)
		}
	}
	for _, key := range []string{"spec", "status"} {
		inner, _ := body[key].(map[string]any)
		for _, field := range []string{"phase", "deadlineAt", "unschedulable", "ttlSecondsAfterFinished"} {
			if value, ok := inner[field]; ok {
				text += fmt.Sprintf(" %s=%v", field, value)
			}
		}
	}
	return text
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		target, hasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && hasMap:
			merge(target, inner)
		default:
			into[key] = value
		}
	}
}

func status(code int) map[string]any {
	reasons := map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict,
		429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError}
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reasons[code]}
}

func reply(code int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text))}, err
}

// committer sends over the wire and writes its events beside the requests.
func (w *wire) committer(t *testing.T) *Committer {
	t.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, namespaced := range []runtime.Object{&v2.NodeClaim{}, &v2.Node{}, &batchv1.Job{}, &corev1.Pod{}, &policyv1.Eviction{}} {
		kinds, _, _ := scheme.ObjectKinds(namespaced)
		mapper.Add(kinds[0], meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	config := &rest.Config{Host: "https://wire", ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	w.counted = prometheus.NewRegistry()
	counters, err := metrics.New(w.counted)
	if err != nil {
		t.Fatal(err)
	}
	live := kube.NewLive(c)
	return &Committer{Live: live, Writer: kube.NewWriter(c, live), Brake: &Brake{}, Metrics: counters,
		Publish: func(e kube.Event) { w.sent = append(w.sent, "event "+e.Reason) }}
}

// add makes an object known to the wire, and gives it an identity.
func add[T client.Object](w *wire, collection string, object T, uid string) T {
	object.SetName(uid)
	object.SetUID(types.UID("uid-" + uid))
	object.SetResourceVersion("1")
	text, _ := json.Marshal(object)
	var document map[string]any
	_ = json.Unmarshal(text, &document)
	w.objects[collection+"/"+uid] = document
	return object
}
