package standin

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"homecluster.dev/autoscaler/proto/externalgrpc"
)

// UserAgent is how the stand-in client introduces itself, to the API server and to the provider.
const UserAgent = "homelab-sandbox-stand-in-client"

// Options say whom the stand-in client talks to, and how patient it is.
type Options struct {
	// Config is for the API server.
	Config *rest.Config
	// Address is the provider's host and port.
	Address string
	// TLS secures the connection; nil: it is not secured.
	TLS *tls.Config
	// Scan is the time from one pass to the next.
	Scan time.Duration
	// Patience bounds its decisions.
	Patience Config
	// Settle is how long a tainted kubeNode rests before it is emptied; EvictTimeout bounds the emptying.
	Settle, EvictTimeout time.Duration
	Clock                clock.Clock
	Log                  *slog.Logger
}

// Client is the loop: observe, decide, act.
type Client struct {
	observer Observer
	actor    Actor
	options  Options
	conn     *grpc.ClientConn

	mu sync.Mutex
	// memory is guarded: a removal that fails in the background is remembered there.
	memory Memory
	// leaving are the kubeNodes whose removal is under way.
	leaving  map[string]bool
	removals sync.WaitGroup
}

// New prepares a client. It does not connect yet.
func New(o Options) (*Client, error) {
	config := rest.CopyConfig(o.Config)
	config.UserAgent = UserAgent
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a Kubernetes client: %w", err)
	}
	secured := insecure.NewCredentials()
	if o.TLS != nil {
		secured = credentials.NewTLS(o.TLS)
	}
	conn, err := grpc.NewClient(o.Address, grpc.WithTransportCredentials(secured), grpc.WithUserAgent(UserAgent))
	if err != nil {
		return nil, fmt.Errorf("making a client of the provider at %s: %w", o.Address, err)
	}
	provider := externalgrpc.NewCloudProviderClient(conn)
	return &Client{
		observer: Observer{Provider: provider, Kube: kube, Config: o.Patience},
		actor: Actor{Provider: provider, Kube: kube, Clock: o.Clock, Settle: o.Settle, EvictTimeout: o.EvictTimeout,
			Events: &events.FakeRecorder{}},
		options: o, conn: conn, leaving: map[string]bool{},
	}, nil
}

// Run makes passes until the context ends, and then waits for removals under way and says goodbye to the provider.
func (c *Client) Run(ctx context.Context) error {
	defer func() { _ = c.conn.Close() }()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.actor.Kube.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("starting the events of the stand-in client: %w", err)
	}
	c.actor.Events = broadcaster.NewRecorder(scheme.Scheme, UserAgent)
	for {
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			c.options.Log.Warn("pass ended early", "err", err)
		}
		select {
		case <-ctx.Done():
			c.removals.Wait()
			return c.goodbye(context.WithoutCancel(ctx))
		case <-c.options.Clock.After(c.options.Scan):
		}
	}
}

// goodbye tells the provider that this client ends, as the real one does. A provider that is gone already is no fault.
func (c *Client) goodbye(ctx context.Context) error {
	if _, err := call(ctx, c.observer.Provider.Cleanup, &externalgrpc.CleanupRequest{}); err != nil {
		c.options.Log.Info("provider did not hear the goodbye", "err", err)
	}
	return nil
}

// pass is one round: the snapshot, the decision about it, and its calls.
func (c *Client) pass(ctx context.Context) error {
	snapshot, err := c.observer.Observe(ctx, c.options.Clock.Now(), c.isLeaving)
	if err != nil {
		return err
	}
	c.mu.Lock()
	plan, memory := Decide(snapshot, c.memory, c.options.Patience)
	c.memory = memory
	c.mu.Unlock()
	for _, note := range plan.Notes {
		c.options.Log.Info(note)
	}
	for _, call := range plan.Calls {
		c.do(ctx, call)
	}
	return nil
}

// do carries one call out. Removals run in the background, each on its own, as the real client's do.
func (c *Client) do(ctx context.Context, call Call) {
	var err error
	switch call := call.(type) {
	case IncreaseSize:
		c.options.Log.Info("asking for machines", "group", call.Group, "delta", call.Delta, "pods", len(call.Pods))
		if err = c.actor.Increase(ctx, call); err != nil {
			c.fault(call.Group)
		}
	case DeleteInstance:
		c.options.Log.Info("giving up an instance", "group", call.Group, "instance", call.Instance, "reason", call.Reason)
		err = c.actor.GiveUp(ctx, call)
	case CleanUp:
		c.options.Log.Info("cleaning up after a former process", "kubeNode", call.KubeNode.Name)
		err = c.actor.PutBack(ctx, call.KubeNode.Name)
	case RemoveKubeNode:
		c.remove(ctx, call)
	}
	if err != nil {
		c.options.Log.Warn("call failed", "group", call.group(), "err", err)
	}
}

func (c *Client) remove(ctx context.Context, call RemoveKubeNode) {
	name := call.KubeNode.Name
	c.options.Log.Info("removing an idle kubeNode", "group", call.Group, "kubeNode", name)
	c.setLeaving(name, true)
	c.removals.Go(func() {
		defer c.setLeaving(name, false)
		if err := c.actor.Remove(ctx, call); err != nil {
			c.options.Log.Warn("removal failed; the kubeNode is back in service", "kubeNode", name, "err", err)
			c.forgetIdle(name)
		}
	})
}

func (c *Client) fault(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory = c.memory.Fault(group, c.options.Clock.Now(), c.options.Patience)
}

// forgetIdle makes a kubeNode earn its idleness anew after a removal that failed.
func (c *Client) forgetIdle(kubeNode string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory = c.memory.clone()
	delete(c.memory.Idle, kubeNode)
}

func (c *Client) isLeaving(kubeNode string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaving[kubeNode]
}

func (c *Client) setLeaving(kubeNode string, leaving bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if leaving {
		c.leaving[kubeNode] = true
		return
	}
	delete(c.leaving, kubeNode)
}
