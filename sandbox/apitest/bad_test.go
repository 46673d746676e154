package apitest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// told says what the API server's refusal lacks of a field and a sentence; empty when it has both.
func told(err error, field, want string) string {
	var refusal *apierrors.StatusError
	if err == nil {
		return "accepted"
	}
	if !errors.As(err, &refusal) || refusal.Status().Details == nil {
		return "not refused but failed: " + err.Error()
	}
	causes := refusal.Status().Details.Causes
	if !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == field && strings.Contains(cause.Message, want)
	}) {
		return "refused with " + err.Error()
	}
	return ""
}

// stored makes an object with its status, as it is before a change.
func stored(t *testing.T, c client.Client, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made := object.DeepCopy()
	if err := c.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if status, ok := object.Object["status"]; ok {
		made.Object["status"] = status
		if err := c.Status().Update(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// Every field of every kind, in spec and status, is given every value that its schema forbids: the API server names the
// field and says what it wants.
func TestEveryFieldRefusesWhatItsSchemaForbids(t *testing.T) {
	c, namespace := server(t)
	tried := map[string]int{}
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			goods := fulls(t, kind, namespace)
			var bases []*unstructured.Unstructured
			for _, good := range goods {
				bases = append(bases, stored(t, c, good))
			}
			for _, p := range places(t, kind) {
				i, at := holding(goods, p)
				if at == nil {
					t.Errorf("testdata/full has no %s %s", kind, p)
					continue
				}
				good, base := goods[i], bases[i]
				for _, fault := range faults(p, get(good.Object, at)) {
					tried[fault.name]++
					bad := func(object *unstructured.Unstructured) *unstructured.Unstructured {
						return &unstructured.Unstructured{Object: put(object.Object, at, fault.value).(map[string]any)}
					}
					if p.steps[0] == "status" {
						lacks(t, p, fault, at, "status", c.Status().Update(t.Context(), bad(base), client.DryRunAll))
						continue
					}
					created := bad(good)
					created.SetName("another")
					lacks(t, p, fault, at, "create", c.Create(t.Context(), created, client.DryRunAll))
					lacks(t, p, fault, at, "update", c.Update(t.Context(), bad(base), client.DryRunAll))
				}
			}
		})
	}
	total := 0
	for name, n := range tried {
		t.Logf("%4d fields %s", n, name)
		total += n
	}
	t.Logf("%4d bad objects", total)
	if total < 300 {
		t.Errorf("%d bad objects, want at least 300", total)
	}
}

func lacks(t *testing.T, p place, fault fault, at []any, how string, err error) {
	t.Helper()
	// What is absent is told at its own place; so is all else.
	if why := told(err, field(at), fault.want); why != "" {
		t.Errorf("%s of %s %s, %s, should be refused with %q at %s: %s", how, p.kind, p, fault.name, fault.want, field(at), why)
	}
}
