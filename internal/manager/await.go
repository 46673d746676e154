package manager

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/kube"
)

const (
	// awaitEvery is the pause between two looks at an API server that is not fit yet.
	awaitEvery = 2 * time.Second
	// answerWithin bounds one look.
	answerWithin = 10 * time.Second
)

// await waits, for a bounded time, until the API server answers, has the namespace, serves our kinds as we know them, and
// grants our rights. What is missing is told by the readiness probe at once, and is the error in the end.
func (m *Manager) await(ctx context.Context) error {
	look, err := newLook(m)
	if err != nil {
		return err
	}
	deadline := m.clock.Now().Add(m.config.StartTimeout)
	said := ""
	for {
		err := look.fit(ctx)
		if err == nil {
			return nil
		}
		m.ready.not(err.Error())
		asked := ctx.Err() == nil // else it only says that nobody was asked
		if asked && !m.clock.Now().Before(deadline) {
			return err
		}
		if asked && err.Error() != said {
			said = err.Error()
			m.log.Info("waiting", "until", deadline.UTC().Format(time.RFC3339), "because", said)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.clock.After(min(awaitEvery, deadline.Sub(m.clock.Now()))):
		}
	}
}

// look asks an API server whether it is fit for us.
type look struct {
	namespace string
	host      string
	kinds     discovery.DiscoveryInterface
	clients   kubernetes.Interface
	reader    client.Reader
	config    config.Config
	// fitting is where schemas of our kinds were published that are new enough.
	fitting string
}

func newLook(m *Manager) (*look, error) {
	reach := rest.CopyConfig(m.rest)
	reach.Timeout = answerWithin
	clients, err := kubernetes.NewForConfig(reach)
	if err != nil {
		return nil, fmt.Errorf("reading how to reach the API server: %w", err)
	}
	reader, err := client.New(reach, client.Options{Scheme: m.scheme})
	if err != nil {
		return nil, fmt.Errorf("reading how to reach the API server: %w", err)
	}
	return &look{namespace: m.config.Namespace, host: reach.Host, kinds: clients.Discovery(), clients: clients,
		reader: reader, config: m.config}, nil
}

// fit is nil when the manager can work here; else it says, on one line, what a person has to do.
func (l *look) fit(ctx context.Context) error {
	for _, ask := range []func(context.Context) error{l.reachable, l.hasNamespace, l.served, l.current, l.permitted} {
		if err := ask(ctx); err != nil {
			return l.explain(err)
		}
	}
	return nil
}

// reachable asks for what everybody may ask, so that an address that answers nothing is told apart from a lack of rights.
func (l *look) reachable(ctx context.Context) error {
	return l.clients.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
}

func (l *look) hasNamespace(ctx context.Context) error {
	namespace, err := kube.Get[corev1.Namespace](ctx, l.reader, "", l.namespace)
	if err != nil {
		return err
	}
	if namespace == nil {
		return fmt.Errorf("namespace %s does not exist: create it, or name another with --namespace", l.namespace)
	}
	return nil
}

// explain puts an API error into words for whoever set this up.
func (l *look) explain(err error) error {
	var transport *url.Error
	switch {
	case unfit(err):
		return err
	case errors.As(err, &transport):
		return fmt.Errorf("the API server at %s does not answer: %w", l.host, transport.Err)
	case kube.Classify(err) == kube.Denied:
		return fmt.Errorf("the API server at %s refuses us: %w", l.host, err)
	}
	return err
}
