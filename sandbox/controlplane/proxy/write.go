package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Write is one write that a client asked for.
type Write struct {
	// Number counts from 1 since Arm.
	Number int
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Resource is the plural, with the subresource after a slash where one is written.
	Resource string
	// Group is the API group; empty for the core group.
	Group string
	// Namespace is empty for objects outside namespaces.
	Namespace string
	// Name is the object's name; that of an object with a generated name is known once it is applied.
	Name string
	// Status is the HTTP status that the API server, or a fault, answered with.
	Status int
	// Applied says that the API server changed something, whatever the client was told.
	Applied bool
}

// String reads "create jobs house/slot-1-up-1".
func (w Write) String() string {
	name := w.Name
	if w.Namespace != "" {
		name = w.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s %s", w.Verb, w.Resource, name)
}

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// questions are API groups whose objects are created only to be answered; nothing is stored.
var questions = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true}

// readWrite tells a write from all other requests, and what it writes. The body is read for the name of a new object and
// put back.
func readWrite(r *http.Request) (Write, bool) {
	verb := verbs[r.Method]
	if verb == "" || r.URL.Query().Has("dryRun") {
		return Write{}, false
	}
	w, ok := readPath(r.URL.Path)
	if !ok || questions[w.Group] {
		return Write{}, false
	}
	w.Verb = verb
	if w.Name == "" && verb == "delete" {
		w.Verb = "deletecollection"
	}
	if w.Name == "" && verb == "create" && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil {
			w.Name = nameIn(body)
		}
	}
	return w, true
}

// readPath takes /api/v1/… and /apis/group/version/… apart; other paths hold no objects.
func readPath(path string) (Write, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var w Write
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		w.Group, parts = parts[1], parts[3:]
	default:
		return Write{}, false
	}
	// A namespace's own path is that of an object until a resource follows; its subresources are named here.
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		w.Namespace, parts = parts[1], parts[2:]
	}
	w.Resource = parts[0]
	if len(parts) > 1 {
		w.Name = parts[1]
	}
	if len(parts) > 2 {
		w.Resource += "/" + strings.Join(parts[2:], "/")
	}
	return w, true
}

// protobufPrefix begins a body in Kubernetes' own binary encoding, which clients prefer for built-in kinds.
var protobufPrefix = []byte("k8s\x00")

// nameIn reads an object's name out of JSON or Kubernetes' binary encoding. In the latter every kind has its metadata
// where PartialObjectMetadata has them, and what follows is skipped as unknown.
func nameIn(body []byte) string {
	var object metav1.PartialObjectMetadata
	if envelope, binary := bytes.CutPrefix(body, protobufPrefix); binary {
		var unknown runtime.Unknown
		if unknown.Unmarshal(envelope) != nil || object.Unmarshal(unknown.Raw) != nil {
			return ""
		}
		return object.Name
	}
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	return object.Name
}
