package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestClassify(t *testing.T) {
	claims := schema.GroupResource{Group: v2.GroupVersion.Group, Resource: "nodeclaims"}
	for name, test := range map[string]struct {
		err   error
		want  Class
		again bool
	}{
		"no error":                     {nil, None, false},
		"a stale version":              {apierrors.NewConflict(claims, "c", errors.New("changed")), Conflict, true},
		"an absence that is none":      {fmt.Errorf("Job j %w", ErrPresent), Conflict, true},
		"an object that is gone":       {apierrors.NewNotFound(claims, "c"), Gone, true},
		"a name that is taken":         {apierrors.NewAlreadyExists(claims, "c"), Exists, true},
		"a Job of another owner":       {fmt.Errorf("creating Job j: %w", ErrForeignJob), Exists, true},
		"no rights":                    {apierrors.NewForbidden(claims, "c", errors.New("no")), Denied, false},
		"no identity":                  {apierrors.NewUnauthorized("no"), Denied, false},
		"a kind that is not served":    {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "NodeClaim"}}, Unserved, false},
		"an object that may not be so": {apierrors.NewInvalid(schema.GroupKind{Kind: "NodeClaim"}, "c", nil), Invalid, false},
		"a busy API server":            {apierrors.NewTooManyRequests("later", 1), Transient, false},
		"a lost answer":                {apierrors.NewTimeoutError("lost", 1), Transient, false},
		"a cut connection":             {errors.New("connection reset by peer"), Transient, false},
	} {
		t.Run(name, func(t *testing.T) {
			wrapped := test.err
			if wrapped != nil {
				wrapped = fmt.Errorf("writing: %w", wrapped)
			}
			if got := Classify(wrapped); got != test.want {
				t.Errorf("class %q, want %q", got, test.want)
			}
			if got := DecideAgain(wrapped); got != test.again {
				t.Errorf("decide again: %t, want %t", got, test.again)
			}
		})
	}
}

func TestANoteFitsIntoAnEvent(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		clipped bool
	}{
		"a short one":                      {"short", false},
		"one that just fits":               {strings.Repeat("x", maxNote), false},
		"a long one":                       {strings.Repeat("x", maxNote+1), true},
		"a long one of more than one byte": {strings.Repeat("é", maxNote), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := clip(test.text)
			if len(got) > maxNote || !utf8.ValidString(got) || (got != test.text) != test.clipped || strings.HasSuffix(got, "…") != test.clipped {
				t.Errorf("%d bytes, clipped: %t", len(got), got != test.text)
			}
		})
	}
}
