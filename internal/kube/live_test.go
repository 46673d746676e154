package kube

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneNamespace answers every read with its namespace, or its error.
type oneNamespace struct {
	client.Reader
	namespace corev1.Namespace
	err       error
}

func (o oneNamespace) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.namespace.DeepCopyInto(into.(*corev1.Namespace))
	return o.err
}

func TestALackOfRightsIsNoErrorInANamespaceThatGoes(t *testing.T) {
	groups := schema.GroupResource{Resource: "groups"}
	forbidden := apierrors.NewForbidden(groups, "g", errors.New("the Role is gone"))
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "home")
	leaving := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}
	for name, test := range map[string]struct {
		err    error
		reader oneNamespace
		quiet  bool
	}{
		"the namespace is being deleted":      {forbidden, oneNamespace{namespace: leaving}, true},
		"the namespace is gone":               {forbidden, oneNamespace{err: gone}, true},
		"the namespace stays":                 {forbidden, oneNamespace{}, false},
		"the namespace may not be read":       {forbidden, oneNamespace{err: forbidden}, false},
		"another error in one that goes":      {apierrors.NewTimeoutError("lost", 1), oneNamespace{namespace: leaving}, false},
		"no error, whatever the namespace is": {nil, oneNamespace{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewLive(test.reader).UnlessLeaving(t.Context(), "home", test.err)
			if (got == nil) != test.quiet {
				t.Errorf("got %v, want quiet: %t", got, test.quiet)
			}
		})
	}
}
