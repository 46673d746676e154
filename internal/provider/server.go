package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/provider/snapshot"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

const (
	// maxMessage bounds a message either way. A batch of nodes comes with all their labels and annotations.
	maxMessage = 16 << 20
	// maxHeaders bounds what a client says about a call beside the request.
	maxHeaders = 16 << 10
	// maxStreams bounds the calls in progress on one connection.
	maxStreams = 256
	// greetWithin is how long a new connection may take to become one.
	greetWithin = 10 * time.Second
	// callsPerSecond and callsAtOnce bound all clients together. One client asks about one node after another and stays
	// far below; what the bound stops is a loop gone wild.
	callsPerSecond, callsAtOnce = 5000, 10000
	// pingAfter and pingWithin close the connection of a client that is gone without a word.
	pingAfter, pingWithin = time.Minute, 20 * time.Second
	// pingsAllowed is the least time between the pings of a client.
	pingsAllowed = 10 * time.Second
	// defaultStop is how long calls in progress may take to end when the server stops.
	defaultStop = 10 * time.Second
)

// Config is what a Server is built from.
type Config struct {
	// Namespace holds the groups, slots and claims.
	Namespace string
	// Policy is what a group that says nothing gets.
	Policy policy.Policy
	// Informers feed the snapshot. They must be started by whoever made them.
	Informers cache.Informers
	// Live reads past every cache, for mutations.
	Live *kube.Live
	// Writer writes claims.
	Writer *kube.Writer
	// Clock is the time.
	Clock clock.Clock
	// Log takes one line per mutation and per failure, and with V(1) one per call.
	Log logr.Logger
	// Options are added to the gRPC server's, the credentials among them. Without credentials the port is plaintext.
	Options []grpc.ServerOption
	// Answered is told of every call, how it ended and how long it took; nil: nobody is.
	Answered func(method, code string, took time.Duration)
	// StopWithin bounds the graceful stop; zero: 10 seconds.
	StopWithin time.Duration
}

// Server answers the 15 calls of cluster-autoscaler's externalgrpc protocol.
type Server struct {
	pb.UnimplementedCloudProviderServer

	namespace string
	policy    policy.Policy
	informers cache.Informers
	live      *kube.Live
	writer    *kube.Writer
	clock     clock.Clock
	log       logr.Logger
	options   []grpc.ServerOption
	answered  func(method, code string, took time.Duration)
	stop      time.Duration

	store  *snapshot.Store
	turns  *turns
	lists  lists
	rate   *rate.Limiter
	synced atomic.Bool
}

// New makes a server. It answers nothing before Serve.
func New(c Config) *Server {
	stop := c.StopWithin
	if stop <= 0 {
		stop = defaultStop
	}
	answered := c.Answered
	if answered == nil {
		answered = func(string, string, time.Duration) {}
	}
	return &Server{
		namespace: c.Namespace, policy: c.Policy, informers: c.Informers, live: c.Live, writer: c.Writer,
		clock: c.Clock, log: c.Log, options: c.Options, answered: answered, stop: stop,
		store: snapshot.New(c.Namespace, c.Policy, c.Clock),
		turns: newTurns(),
		rate:  rate.NewLimiter(callsPerSecond, callsAtOnce),
	}
}

// Serve fills the snapshot, then answers on the listener until the context ends, and stops gracefully. It closes the
// listener in every case.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer func() { _ = listener.Close() }() // a second close, after the server's own, is no fault
	if err := s.store.Watch(ctx, s.informers); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("filling the provider's snapshot: %w", err)
	}
	server, healthy := s.register()
	s.serving(healthy, true)
	s.log.Info("answering cluster-autoscaler", "address", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		s.serving(healthy, false)
		return fmt.Errorf("answering on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.serving(healthy, false)
	s.gracefulStop(server)
	if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("answering on %s: %w", listener.Addr(), err)
	}
	return nil
}

// Ready is nil once the server answers from a full snapshot.
func (s *Server) Ready() error {
	if !s.synced.Load() {
		return errors.New("the provider does not answer yet: its snapshot is not filled")
	}
	return nil
}

// Runnable is the server as a manager runs it: on every replica, since claims are the whole state.
func (s *Server) Runnable(listener net.Listener) Runnable {
	return Runnable{server: s, listener: listener}
}

// Runnable serves on one listener.
type Runnable struct {
	server   *Server
	listener net.Listener
}

// Start serves until the context ends.
func (r Runnable) Start(ctx context.Context) error { return r.server.Serve(ctx, r.listener) }

// NeedLeaderElection is false: every replica answers.
func (r Runnable) NeedLeaderElection() bool { return false }

func (s *Server) register() (*grpc.Server, *health.Server) {
	server := grpc.NewServer(append(s.guards(), s.options...)...)
	healthy := health.NewServer()
	pb.RegisterCloudProviderServer(server, s)
	healthpb.RegisterHealthServer(server, healthy)
	reflection.Register(server)
	return server, healthy
}

// guards are what stands between a client and the handlers.
func (s *Server) guards() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.identify, s.recoverPanic, s.bound, s.pace, answerInCodes),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaders), grpc.ConnectionTimeout(greetWithin),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingWithin}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingsAllowed, PermitWithoutStream: true}),
	}
}

func (s *Server) serving(healthy *health.Server, yes bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if yes {
		status = healthpb.HealthCheckResponse_SERVING
	}
	s.synced.Store(yes)
	healthy.SetServingStatus("", status)
	healthy.SetServingStatus(pb.CloudProvider_ServiceDesc.ServiceName, status)
}

// gracefulStop lets calls in progress end, for a bounded time.
func (s *Server) gracefulStop(server *grpc.Server) {
	timer := s.clock.NewTimer(s.stop)
	defer timer.Stop()
	done := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-timer.C():
		s.log.Info("cutting calls that did not end in time", "after", s.stop.String())
		server.Stop()
		<-done
	}
}
