package provider

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// FuzzMutations sends any bytes as the request of each call that writes, to a provider whose API server answers reads and
// takes no write. No bytes may crash it, and none may be answered as if our own code were at fault. What calls write is
// tried on a real API server in the sandbox.
func FuzzMutations(f *testing.F) {
	server := house(f).Server
	readOnly := &readOnly{}
	server.live, server.writer = kube.NewLive(readOnly), kube.NewWriter(readOnly, kube.NewLive(readOnly))
	for _, seed := range []message{
		{}, message{}.text(1, "g"), message{}.text(2, "g"),
		message{}.bytes(1, message{}.text(1, "homelab://up").text(2, "k-up")).text(2, "g"),
		message{}.bytes(1, message{}.text(1, "homelab://free").text(2, "k-up")).text(2, "g"),
	} {
		f.Add([]byte(seed))
	}
	for _, delta := range []int32{-1, 0, 1, 2, 1 << 30} {
		raw, err := proto.Marshal(&pb.NodeGroupIncreaseSizeRequest{Delta: delta, Id: "g"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		// A call that meets a server on its way down tries again until its own deadline.
		ctx, done := context.WithTimeout(t.Context(), time.Millisecond)
		defer done()
		write := func(request proto.Message, ask func() error) {
			if proto.Unmarshal(raw, request) != nil {
				return
			}
			err := ask()
			switch code := status.Code(toStatus(err)); code {
			case codes.OK, codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.Unavailable, codes.DeadlineExceeded:
			default:
				t.Errorf("%T answers %s: %v", request, code, err)
			}
		}
		increase := &pb.NodeGroupIncreaseSizeRequest{}
		write(increase, func() error { _, err := server.NodeGroupIncreaseSize(ctx, increase); return err })
		decrease := &pb.NodeGroupDecreaseTargetSizeRequest{}
		write(decrease, func() error { _, err := server.NodeGroupDecreaseTargetSize(ctx, decrease); return err })
		remove := &pb.NodeGroupDeleteNodesRequest{}
		write(remove, func() error { _, err := server.NodeGroupDeleteNodes(ctx, remove); return err })
	})
}

// readOnly answers reads with the objects of the house, and refuses every write as an API server does that is
// going down.
type readOnly struct{ client.Client }

var errReadOnly = apierrors.NewServiceUnavailable("no write is taken")

func (r *readOnly) Create(context.Context, client.Object, ...client.CreateOption) error {
	return errReadOnly
}
func (r *readOnly) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return errReadOnly
}
func (r *readOnly) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errReadOnly
}
func (r *readOnly) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errReadOnly
}

func (r *readOnly) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, object := range given() {
		if object.GetName() != key.Name {
			continue
		}
		switch into := into.(type) {
		case *v2.Group:
			if g, ok := object.(*v2.Group); ok {
				g.DeepCopyInto(into)
				return nil
			}
		case *v2.Node:
			if s, ok := object.(*v2.Node); ok {
				s.DeepCopyInto(into)
				return nil
			}
		case *v2.NodeClaim:
			if c, ok := object.(*v2.NodeClaim); ok {
				c.DeepCopyInto(into)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (r *readOnly) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	for _, object := range given() {
		switch into := into.(type) {
		case *v2.NodeList:
			if s, ok := object.(*v2.Node); ok {
				into.Items = append(into.Items, *s)
			}
		case *v2.NodeClaimList:
			if c, ok := object.(*v2.NodeClaim); ok {
				into.Items = append(into.Items, *c)
			}
		default:
			return errors.New("nobody lists these")
		}
	}
	return nil
}
