package realclient

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// The calls that change something.
const (
	increaseSize       = "NodeGroupIncreaseSize"
	deleteNodes        = "NodeGroupDeleteNodes"
	decreaseTargetSize = "NodeGroupDecreaseTargetSize"
)

// call is one call of the client, as it was answered.
type call struct {
	at      time.Time
	method  string
	request proto.Message
	code    codes.Code
	answer  string
}

func (c call) String() string {
	text := fmt.Sprintf("%s %s(%s) %s", c.at.Format("15:04:05.000"), c.method, arguments(c.request), c.code)
	return strings.TrimSpace(text + " " + c.answer)
}

func arguments(request proto.Message) string {
	switch r := request.(type) {
	case *pb.NodeGroupIncreaseSizeRequest:
		return fmt.Sprintf("%s, %+d", r.GetId(), r.GetDelta())
	case *pb.NodeGroupDecreaseTargetSizeRequest:
		return fmt.Sprintf("%s, %+d", r.GetId(), r.GetDelta())
	case *pb.NodeGroupDeleteNodesRequest:
		text := r.GetId()
		for _, node := range r.GetNodes() {
			text += ", " + node.GetName()
			if reason := node.GetAnnotations()["k8s.io/cluster-autoscaler/fake-node-reason"]; reason != "" {
				text += " (" + reason + ")"
			}
		}
		return text
	}
	return ""
}

// tap passes calls on byte for byte, and notes them.
type tap struct {
	address string
	conn    *grpc.ClientConn
	server  *grpc.Server

	mu     sync.Mutex
	calls  []call
	spoilt map[string]error
	kept   map[string]chan struct{}
}

func newTap(t *testing.T, provider string) *tap {
	t.Helper()
	conn, err := grpc.NewClient(provider, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{address: listener.Addr().String(), conn: conn, spoilt: map[string]error{}, kept: map[string]chan struct{}{}}
	p.server = grpc.NewServer(grpc.ForceServerCodecV2(asBytes{}), grpc.UnknownServiceHandler(p.pass))
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(listener) }()
	t.Cleanup(func() {
		p.server.Stop()
		_ = conn.Close()
		if err := <-served; err != nil {
			t.Errorf("serving the tap: %v", err)
		}
	})
	return p
}

// spoil lets the next call of this method fail without reaching the provider.
func (p *tap) spoil(method string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoilt[method] = err
}

// keep lets the next call of this method never reach the provider, and says when it was made.
func (p *tap) keep(method string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[method] = make(chan struct{})
	return p.kept[method]
}

func (p *tap) pass(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	c := call{at: time.Now(), method: path.Base(full)}
	var request, answer []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	c.request = decode(c.method, request)
	err := p.trouble(stream.Context(), c.method)
	if err == nil {
		err = p.conn.Invoke(stream.Context(), full, &request, &answer, grpc.ForceCodecV2(asBytes{}))
	}
	told := status.Convert(err)
	c.code, c.answer = told.Code(), told.Message()
	p.mu.Lock()
	p.calls = append(p.calls, c)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

// trouble is what the test has in mind for this call.
func (p *tap) trouble(ctx context.Context, method string) error {
	p.mu.Lock()
	err, kept := p.spoilt[method], p.kept[method]
	delete(p.spoilt, method)
	delete(p.kept, method)
	p.mu.Unlock()
	if kept != nil {
		close(kept)
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return err
}

// decode reads what the test wants to know more of than its name.
func decode(method string, request []byte) proto.Message {
	var m proto.Message
	switch method {
	case increaseSize:
		m = &pb.NodeGroupIncreaseSizeRequest{}
	case deleteNodes:
		m = &pb.NodeGroupDeleteNodesRequest{}
	case decreaseTargetSize:
		m = &pb.NodeGroupDecreaseTargetSizeRequest{}
	default:
		return nil
	}
	if err := proto.Unmarshal(request, m); err != nil {
		return nil // the provider will say so
	}
	return m
}

// made are the calls of these methods so far, of all without any.
func (p *tap) made(methods ...string) []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []call
	for _, c := range p.calls {
		if len(methods) == 0 || slices.Contains(methods, c.method) {
			found = append(found, c)
		}
	}
	return found
}

// called waits for the first answer to a call of this method.
func (o *home) called(method string) {
	o.t.Helper()
	o.eventually("the client has called "+method, func(context.Context) string {
		if len(o.tap.made(method)) == 0 {
			return "it has not"
		}
		return ""
	})
}

// asked is how many machines were asked for with success.
func (p *tap) asked() int32 {
	var sum int32
	for _, c := range p.made(increaseSize) {
		if r, ok := c.request.(*pb.NodeGroupIncreaseSizeRequest); ok && c.code == codes.OK {
			sum += r.GetDelta()
		}
	}
	return sum
}

// note counts the reads, by method and code, and tells each call that changes something.
func (p *tap) note() []string {
	counts, lines := map[string]int{}, []string(nil)
	for _, c := range p.made() {
		if c.request != nil {
			lines = append(lines, c.String())
			continue
		}
		name := c.method
		if c.code != codes.OK {
			name += "!" + c.code.String()
		}
		counts[name]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	return append([]string{strings.Join(names, ", ")}, lines...)
}

// inShort tells the calls that change something on one line; equal ones that follow on each other are told once.
func (p *tap) inShort() string {
	var told []string
	times := 1
	for _, c := range p.made(increaseSize, deleteNodes, decreaseTargetSize) {
		text := fmt.Sprintf("%s(%s)", strings.TrimPrefix(c.method, "NodeGroup"), arguments(c.request))
		if c.code != codes.OK {
			text += " " + c.code.String()
		}
		last := len(told) - 1
		if last >= 0 && strings.TrimSuffix(told[last], fmt.Sprintf(" x%d", times)) == text {
			times++
			told[last] = fmt.Sprintf("%s x%d", text, times)
			continue
		}
		told, times = append(told, text), 1
	}
	if len(told) == 0 {
		return "no call that changes anything"
	}
	return strings.Join(told, ", ")
}

// asBytes is the codec of who looks at no message.
type asBytes struct{}

func (asBytes) Name() string { return "proto" }

func (asBytes) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("passing on a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*message)}, nil
}

func (asBytes) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("taking in a %T", v)
	}
	*message = data.Materialize()
	return nil
}
