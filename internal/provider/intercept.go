package provider

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/uuid"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

const (
	// requestIDKey carries the id of a call, from the client if it has one, and back.
	requestIDKey = "x-request-id"
	// maxRequestID bounds an id that a client brings.
	maxRequestID = 64
	// defaultDeadline bounds a call of a client that sets no deadline.
	defaultDeadline = 30 * time.Second
)

// protocol is how the full name of every call of the client begins; the others are health checks and reflection.
var protocol = "/" + pb.CloudProvider_ServiceDesc.ServiceName + "/"

type requestIDContext struct{}

// identify gives the call an id, a logger that carries it, and its line in the log.
func (s *Server) identify(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	id := requestID(ctx)
	log := s.log.WithValues("call", path.Base(info.FullMethod), "request", id)
	ctx = logr.NewContext(context.WithValue(ctx, requestIDContext{}, id), log)
	// A header that cannot be set means that the stream is gone; the call's own end says so.
	_ = grpc.SetHeader(ctx, metadata.Pairs(requestIDKey, id))
	started := s.clock.Now()
	answer, err := next(ctx, request)
	elapsed := s.clock.Since(started)
	took := elapsed.String()
	if strings.HasPrefix(info.FullMethod, protocol) {
		s.answered(path.Base(info.FullMethod), status.Code(err).String(), elapsed)
	}
	switch code := status.Code(err); code {
	case codes.OK, codes.Unimplemented:
		log.V(1).Info("answered", "code", code.String(), "took", took)
	case codes.Internal, codes.Unknown:
		log.Error(err, "failed", "code", code.String(), "took", took)
	default:
		log.Info("refused", "code", code.String(), "took", took, "because", status.Convert(err).Message())
	}
	return answer, err
}

// requestID is the client's own id for the call if it sent a sane one, else a new one.
func requestID(ctx context.Context) string {
	if incoming, ok := metadata.FromIncomingContext(ctx); ok {
		if ids := incoming.Get(requestIDKey); len(ids) == 1 && saneID(ids[0]) {
			return ids[0]
		}
	}
	return string(uuid.NewUUID())
}

func saneID(id string) bool {
	for _, r := range id {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// recoverPanic answers Internal with the call's id where a handler panicked: one call fails, the process lives.
func (s *Server) recoverPanic(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			id, _ := ctx.Value(requestIDContext{}).(string)
			logr.FromContextOrDiscard(ctx).Error(fmt.Errorf("panic: %v", cause), "a call panicked", "stack", string(debug.Stack()))
			answer, err = nil, status.Errorf(codes.Internal, "internal error; the log has it under request %s", id)
		}
	}()
	return next(ctx, request)
}

// bound gives a call without a deadline one.
func (s *Server) bound(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if _, ok := ctx.Deadline(); ok {
		return next(ctx, request)
	}
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	return next(ctx, request)
}

// pace lets a call wait for its share of the server, and refuses at once one whose deadline comes before its turn.
func (s *Server) pace(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := s.rate.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, toStatus(ctx.Err())
		}
		return nil, status.Errorf(codes.ResourceExhausted, "more than %d calls a second, too many to answer this one in time", callsPerSecond)
	}
	return next(ctx, request)
}

// callID is the id under which a claim remembers the call that made it. The client's own id is not enough: two calls may
// bring the same.
func callID() string { return string(uuid.NewUUID()) }
