package slot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"homecluster.dev/autoscaler/internal/kube"
)

// TestARefusalThatLastsIsTold and one of a moment is not.
func TestARefusalThatLastsIsTold(t *testing.T) {
	w := &wire{}
	r := Reconciler{Committer: *w.committer(t), Again: retries()}
	var told []int
	round := 0
	ctx := logr.NewContext(t.Context(), funcr.New(func(string, string) { told = append(told, round) }, funcr.Options{}))
	for round = range 8 {
		r.again(ctx, reconcile.Request{}, fmt.Errorf("Job up-1 %w", kube.ErrPresent))
	}
	if want := []int{6, 7}; !slices.Equal(told, want) {
		t.Errorf("told in rounds %v, want %v", told, want)
	}
}
