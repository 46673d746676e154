package provider

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/kube"
)

// faultCodes is the one map from what the core says to gRPC's codes.
var faultCodes = map[pool.FaultKind]codes.Code{
	pool.Malformed:  codes.InvalidArgument,
	pool.Unknown:    codes.NotFound,
	pool.Refused:    codes.FailedPrecondition,
	pool.Busy:       codes.Unavailable,
	pool.NotOffered: codes.Unimplemented,
}

// classCodes is the one map from what the API server says. Whatever another try may mend is Unavailable, which the
// client repeats.
var classCodes = map[kube.Class]codes.Code{
	kube.Conflict:  codes.Unavailable,
	kube.Gone:      codes.Unavailable,
	kube.Exists:    codes.Unavailable,
	kube.Transient: codes.Unavailable,
	kube.Denied:    codes.Internal,
	kube.Unserved:  codes.Internal,
	kube.Invalid:   codes.Internal,
}

// answerInCodes turns the errors of the handlers into statuses.
func answerInCodes(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	answer, err := next(ctx, request)
	if err != nil {
		return nil, toStatus(err)
	}
	return answer, nil
}

func toStatus(err error) error {
	var fault *pool.Fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault):
		return status.Error(faultCodes[fault.Kind], err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(classCodes[kube.Classify(err)], err.Error())
}
