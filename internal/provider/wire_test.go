package provider

import (
	"encoding/hex"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// Requests here are assembled by hand, as the clients of each generation put them on the wire, and answers are taken
// apart by hand, as those clients read them: our own generated code must not be its own witness.

// message puts fields together.
type message []byte

func (m message) double(n protowire.Number, v float64) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, n, protowire.Fixed64Type), math.Float64bits(v))
}

func (m message) varint(n protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), uint64(v))
}

func (m message) bytes(n protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), v)
}

func (m message) text(n protowire.Number, v string) message { return m.bytes(n, []byte(v)) }

// nanoseconds is a meta/v1 Duration, seconds a google.protobuf.Duration or a time.
func nanoseconds(d time.Duration) message { return message{}.varint(1, int64(d)) }
func seconds(n int64) message             { return message{}.varint(1, n) }

// fields takes a message apart: the last value of each number.
func fields(t *testing.T, raw []byte) map[protowire.Number]any {
	t.Helper()
	got := map[protowire.Number]any{}
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			t.Fatalf("no tag in %s", hex.EncodeToString(raw))
		}
		raw = raw[n:]
		var size int
		switch kind {
		case protowire.VarintType:
			got[number], size = protowire.ConsumeVarint(raw)
		case protowire.Fixed64Type:
			bits, s := protowire.ConsumeFixed64(raw)
			got[number], size = math.Float64frombits(bits), s
		case protowire.BytesType:
			got[number], size = protowire.ConsumeBytes(raw)
		default:
			t.Fatalf("field %d has wire type %d", number, kind)
		}
		if size < 0 {
			t.Fatalf("field %d ends early", number)
		}
		raw = raw[size:]
	}
	return got
}

// send makes a call with hand-made bytes and returns the bytes of the answer.
func send(t *testing.T, f fixture, call string, request message, into, answer proto.Message) []byte {
	t.Helper()
	if err := proto.Unmarshal(request, into); err != nil {
		t.Fatalf("reading the client's bytes: %v", err)
	}
	if err := f.conn.Invoke(t.Context(), "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/"+call, into, answer); err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestOptionsOfEachGeneration(t *testing.T) {
	f := start(t, group("g", func(g *v2.Group) {
		g.Spec.ScaleDownUnneededTime = &metav1.Duration{Duration: 90 * time.Second}
	}), slot("a", "g"))
	thresholds := message{}.double(1, 0.5).double(2, 0.25)
	older := thresholds.bytes(3, nanoseconds(10*time.Minute)).bytes(4, nanoseconds(20*time.Minute))
	newer := func(m message) message {
		return m.bytes(8, seconds(600)).bytes(9, seconds(1200)).bytes(10, seconds(900))
	}
	for name, test := range map[string]struct {
		defaults  message
		provision time.Duration
	}{
		"1.25: no provision time":         {older[:len(older):len(older)], 14*time.Minute + 10*time.Second},
		"1.29 to 1.34.1: Kubernetes' own": {append(message{}, older...).bytes(5, nanoseconds(15*time.Minute)), 15 * time.Minute},
		"1.34.2: both":                    {newer(append(message{}, older...).bytes(5, nanoseconds(15*time.Minute))), 15 * time.Minute},
		"1.35 on: plain":                  {newer(append(message{}, thresholds...)), 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			raw := send(t, f, "NodeGroupGetOptions", message{}.text(1, "g").bytes(2, test.defaults),
				&pb.NodeGroupAutoscalingOptionsRequest{}, &pb.NodeGroupAutoscalingOptionsResponse{})
			options := fields(t, fields(t, raw)[1].([]byte))
			if options[1] != 0.5 || options[2] != 0.25 {
				t.Errorf("thresholds %v, %v", options[1], options[2])
			}
			for number, want := range map[protowire.Number]time.Duration{3: 90 * time.Second, 4: 20 * time.Minute, 5: test.provision} {
				inner := fields(t, options[number].([]byte))
				if got := time.Duration(inner[1].(uint64)); got != want {
					t.Errorf("an older client reads %s in field %d, want %s", got, number, want)
				}
			}
			for number, want := range map[protowire.Number]time.Duration{8: 90 * time.Second, 9: 20 * time.Minute, 10: test.provision} {
				inner := fields(t, options[number].([]byte))
				if got := time.Duration(inner[1].(uint64)); got != want/time.Second {
					t.Errorf("a newer client reads %ds in field %d, want %s", got, number, want)
				}
			}
		})
	}
}

func TestTemplateForEachGeneration(t *testing.T) {
	f := start(t, group("g"), slot("a", "g"))
	raw := send(t, f, "NodeGroupTemplateNodeInfo", message{}.text(1, "g"),
		&pb.NodeGroupTemplateNodeInfoRequest{}, &pb.NodeGroupTemplateNodeInfoResponse{})
	got := fields(t, raw)
	for number, client := range map[protowire.Number]string{1: "1.34", 2: "1.35"} {
		var kubeNode corev1.Node
		if err := kubeNode.Unmarshal(got[number].([]byte)); err != nil {
			t.Fatalf("a client of %s reads field %d: %v", client, number, err)
		}
		if pods := kubeNode.Status.Allocatable.Pods(); pods.Value() != 110 {
			t.Errorf("a client of %s sees room for %s pods", client, pods)
		}
	}
}

func TestPricesOfEachGeneration(t *testing.T) {
	f := start(t, group("g"), slot("a", "g", priced))
	from, to := noon.Unix(), noon.Add(90*time.Minute).Unix()
	node := message{}.text(2, "k-a")
	for name, request := range map[string]message{
		"1.34.1: Kubernetes' times": message{}.bytes(1, node).bytes(2, seconds(from)).bytes(3, seconds(to)),
		"1.34.2: both":              message{}.bytes(1, node).bytes(2, seconds(from)).bytes(3, seconds(to)).bytes(4, seconds(from)).bytes(5, seconds(to)),
		"1.35 on: timestamps":       message{}.bytes(1, node).bytes(4, seconds(from)).bytes(5, seconds(to)),
	} {
		t.Run("a node, "+name, func(t *testing.T) {
			raw := send(t, f, "PricingNodePrice", request, &pb.PricingNodePriceRequest{}, &pb.PricingNodePriceResponse{})
			if got := fields(t, raw)[1].(float64); math.Abs(got-0.60) > 1e-9 {
				t.Errorf("price %v", got)
			}
		})
	}
	pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
	}}}}}
	bytes, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]message{
		"1.34.1: the Pod itself": message{}.bytes(1, bytes).bytes(2, seconds(from)).bytes(3, seconds(to)),
		"1.34.2: both":           message{}.bytes(1, bytes).bytes(2, seconds(from)).bytes(3, seconds(to)).bytes(4, bytes).bytes(5, seconds(from)).bytes(6, seconds(to)),
		"1.35 on: its bytes":     message{}.bytes(4, bytes).bytes(5, seconds(from)).bytes(6, seconds(to)),
	} {
		t.Run("a pod, "+name, func(t *testing.T) {
			raw := send(t, f, "PricingPodPrice", request, &pb.PricingPodPriceRequest{}, &pb.PricingPodPriceResponse{})
			if got := fields(t, raw)[1].(float64); math.Abs(got-1.5*(0.01+0.40/4)) > 1e-9 {
				t.Errorf("price %v", got)
			}
		})
	}
}

func TestInstancesOnTheWire(t *testing.T) {
	f := start(t, group("g"), slot("a", "g"), claim("a", "g", v2.ClaimFailed, func(c *v2.NodeClaim) {
		c.Status.Reason, c.Status.Message = v2.ReasonDeadlineExceeded, "no kubelet by noon"
		c.Status.FinishedAt = &metav1.Time{Time: noon.Add(-time.Second)}
	}))
	raw := send(t, f, "NodeGroupNodes", message{}.text(1, "g"), &pb.NodeGroupNodesRequest{}, &pb.NodeGroupNodesResponse{})
	instance := fields(t, fields(t, raw)[1].([]byte))
	status := fields(t, instance[2].([]byte))
	fault := fields(t, status[2].([]byte))
	got := []any{string(instance[1].([]byte)), status[1], string(fault[1].([]byte)), string(fault[2].([]byte)), fault[3]}
	want := []any{"homelab://a", uint64(2), "DeadlineExceeded", "no kubelet by noon", uint64(99)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
}
