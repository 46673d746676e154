package observe_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/observer"
	"homecluster.dev/autoscaler/sandbox/house"
)

// An observer with its own rights becomes ready, names the key that a Secret lacks, reads the switch once the key is there,
// and counts both.
func TestAnObserverBecomesReadyAndCountsWhatBecameOfItsRounds(t *testing.T) {
	h := move(t, house.New(t), scenario{})
	whole := h.secret.DeepCopy()
	h.change(func(data map[string][]byte) { delete(data, "password") })
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	reach := h.admit(h.secret.Name)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- observer.Serve(ctx, reach, config.Observer{Namespace: h.Namespace, Address: address}, pace(), logr.Discard())
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the observer ended: %v", err)
		}
	})
	h.Eventually("ready", func(ctx context.Context) string { return missing(ctx, "http://"+address+"/readyz", "ok") })

	slot := h.untilRead(v2.PowerUnknown, "no credentials: Secret "+h.secret.Name+" has no key password")
	h.change(func(data map[string][]byte) { data["password"] = whole.Data["password"] })
	h.untilRead(v2.PowerOff)
	polls := `homelab_autoscaler_power_polls_total{group=%q,namespace=%q,result=%q,slot=%q} `
	for _, result := range []observer.Result{observer.NoSecret, observer.Read} {
		series := fmt.Sprintf(polls, slot.Labels[v2.LabelGroup], h.Namespace, result, slot.Name)
		h.Eventually("counted", func(ctx context.Context) string { return missing(ctx, "http://"+address+"/metrics", series) })
		if missing(t.Context(), "http://"+address+"/metrics", series+"0\n") == "" {
			t.Errorf("no round is counted in %s", series)
		}
	}
}

// change changes what is in the machine's Secret.
func (h *home) change(how func(map[string][]byte)) {
	h.T.Helper()
	before := h.secret.DeepCopy()
	how(h.secret.Data)
	if err := h.Client.Patch(h.T.Context(), h.secret, client.MergeFrom(before)); err != nil {
		h.T.Fatal(err)
	}
}

// missing is what is wrong with an answer that should have these words in it; empty: nothing is.
func missing(ctx context.Context, url, words string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		return fmt.Sprint(err, closed)
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(text), words) {
		return fmt.Sprintf("%s answers %s without %s", url, response.Status, words)
	}
	return ""
}
