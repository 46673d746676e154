package provider

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	clocktesting "k8s.io/utils/clock/testing"

	"homecluster.dev/autoscaler/internal/core/policy"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// odd answers two calls as no handler should, behind the interceptors of the real server.
type odd struct {
	pb.UnimplementedCloudProviderServer
}

func (odd) NodeGroups(context.Context, *pb.NodeGroupsRequest) (*pb.NodeGroupsResponse, error) {
	panic("a bug")
}

// Refresh ends with its deadline.
func (odd) Refresh(ctx context.Context, _ *pb.RefreshRequest) (*pb.RefreshResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// edge serves a service behind the interceptors and limits of a server.
func edge(t *testing.T, s *Server, service pb.CloudProviderServer) pb.CloudProviderClient {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(s.guards()...)
	pb.RegisterCloudProviderServer(server, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///edge", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewCloudProviderClient(conn)
}

func edgeServer(answered func(method, code string, took time.Duration)) *Server {
	return New(Config{
		Namespace: "home", Policy: policy.Default(), Clock: clocktesting.NewFakeClock(noon), Log: logr.Discard(), Answered: answered,
	})
}

func TestAPanicFailsOneCallAndNamesItsRequest(t *testing.T) {
	client := edge(t, edgeServer(nil), odd{})
	ctx := metadata.AppendToOutgoingContext(t.Context(), requestIDKey, "req-7")
	for range 2 {
		var header metadata.MD
		_, err := client.NodeGroups(ctx, &pb.NodeGroupsRequest{}, grpc.Header(&header))
		if status.Code(err) != codes.Internal || !strings.HasSuffix(status.Convert(err).Message(), "under request req-7") {
			t.Errorf("a panic answers %v", err)
		}
		if strings.Contains(err.Error(), "a bug") {
			t.Errorf("the client is told of our insides: %v", err)
		}
		if diff := cmp.Diff([]string{"req-7"}, header.Get(requestIDKey)); diff != "" {
			t.Errorf("the id of the request: %s", diff)
		}
	}
}

func TestAnIDThatIsNoneIsReplaced(t *testing.T) {
	for name, id := range map[string]string{"too long": strings.Repeat("x", 65), "with a space": "a b", "with a letter beyond ASCII": "ä"} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(requestIDKey, id))
		if got := requestID(ctx); got == id || len(got) != 36 {
			t.Errorf("%s: the call goes by %q", name, got)
		}
	}
}

func TestACallEndsWithItsDeadline(t *testing.T) {
	client := edge(t, edgeServer(nil), odd{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Refresh(ctx, &pb.RefreshRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := client.Refresh(ctx, &pb.RefreshRequest{}); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestACallWithoutADeadlineGetsOne(t *testing.T) {
	s := edgeServer(nil)
	_, err := s.bound(t.Context(), nil, nil, func(ctx context.Context, _ any) (any, error) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > defaultDeadline {
			t.Errorf("deadline %v, %t", deadline, ok)
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTooManyCallsAreRefusedAtOnceWhenTheirTurnWouldComeTooLate(t *testing.T) {
	s := edgeServer(nil)
	s.rate = rate.NewLimiter(rate.Every(time.Hour), 2)
	client := edge(t, s, s)
	got := map[codes.Code]int{}
	for range 5 {
		_, err := client.Refresh(t.Context(), &pb.RefreshRequest{})
		got[status.Code(err)]++
	}
	if diff := cmp.Diff(map[codes.Code]int{codes.OK: 2, codes.ResourceExhausted: 3}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	s := edgeServer(nil)
	client := edge(t, s, s)
	huge := &pb.NodeGroupForNodeRequest{Node: &pb.ExternalGrpcNode{Name: strings.Repeat("x", maxMessage)}}
	if _, err := client.NodeGroupForNode(t.Context(), huge); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
	long := metadata.AppendToOutgoingContext(t.Context(), "x-note", strings.Repeat("x", maxHeaders))
	if _, err := client.Refresh(long, &pb.RefreshRequest{}); err == nil {
		t.Error("headers beyond the bound are taken")
	}
}

func TestEveryCallIsTimedByMethodAndCode(t *testing.T) {
	var got []string
	s := edgeServer(func(method, code string, _ time.Duration) { got = append(got, method+" "+code) })
	client := edge(t, s, s)
	_, _ = client.Refresh(t.Context(), &pb.RefreshRequest{})
	_, _ = client.NodeGroupTargetSize(t.Context(), &pb.NodeGroupTargetSizeRequest{Id: "none"})
	_, _ = client.NodeGroupTargetSize(t.Context(), &pb.NodeGroupTargetSizeRequest{})
	want := []string{"Refresh OK", "NodeGroupTargetSize NotFound", "NodeGroupTargetSize InvalidArgument"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
