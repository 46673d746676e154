package conformance

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func priceCases() []Case {
	return []Case{
		{RPC: "PricingNodePrice", Name: "a call without node or period is refused", judge: judgeAbsurdNodePrices},
		{RPC: "PricingPodPrice", Name: "a call without pod or period is refused", judge: judgeAbsurdPodPrices},
		{RPC: "PricingNodePrice", Name: "the node of a template has the price of its machine, for every client", Need: Cluster, judge: judgeNodePrice},
		{RPC: "PricingPodPrice", Name: "a pod has a price, the same for every client", Need: Cluster, judge: judgePodPrice},
	}
}

// hours are a period as older, transitional and newer clients send it.
type period struct {
	olderStart, olderEnd *pb.KubernetesTime
	newerStart, newerEnd *timestamppb.Timestamp
}

func periods(length time.Duration) map[string]period {
	start := time.Unix(1_700_000_000, 0)
	end := start.Add(length)
	older := period{olderStart: &pb.KubernetesTime{Seconds: start.Unix()}, olderEnd: &pb.KubernetesTime{Seconds: end.Unix()}}
	newer := period{newerStart: timestamppb.New(start), newerEnd: timestamppb.New(end)}
	return map[string]period{
		"a client up to 1.34.1": older, "a client from 1.35": newer,
		"a client from 1.34.2 to 1.34": {older.olderStart, older.olderEnd, newer.newerStart, newer.newerEnd},
	}
}

func (r *run) nodePrice(node *pb.ExternalGrpcNode, p period) (float64, error) {
	answer, err := r.rpc.PricingNodePrice(r.ctx, &pb.PricingNodePriceRequest{
		Node: node, StartTime: p.olderStart, EndTime: p.olderEnd, StartTimestamp: p.newerStart, EndTimestamp: p.newerEnd,
	})
	return answer.GetPrice(), err
}

// podPrice sends the pod in the field of the client that sends such a period.
func (r *run) podPrice(pod []byte, p period) (float64, error) {
	request := &pb.PricingPodPriceRequest{
		StartTime: p.olderStart, EndTime: p.olderEnd, StartTimestamp: p.newerStart, EndTimestamp: p.newerEnd,
	}
	if p.olderStart != nil {
		request.Pod = pod
	}
	if p.newerStart != nil {
		request.PodBytes = pod
	}
	answer, err := r.rpc.PricingPodPrice(r.ctx, request)
	return answer.GetPrice(), err
}

// absurd demands InvalidArgument of a provider that prices at all.
func (r *run) absurd(doing string, err error) {
	r.oneOf(doing, err, codes.InvalidArgument, codes.Unimplemented)
}

func judgeAbsurdNodePrices(r *run) error {
	for client, hour := range periods(time.Hour) {
		_, err := r.nodePrice(nil, hour)
		r.absurd(client+", no node", err)
		_, err = r.nodePrice(&pb.ExternalGrpcNode{}, hour)
		r.absurd(client+", a node without a name", err)
		_, err = r.nodePrice(stranger(), hour)
		r.oneOf(client+", a stranger", err, codes.NotFound, codes.Unimplemented)
	}
	_, err := r.nodePrice(stranger(), period{})
	r.absurd("no period", err)
	for client, backwards := range periods(-time.Hour) {
		_, err := r.nodePrice(stranger(), backwards)
		r.absurd(client+", a period that ends before it starts", err)
	}
	return nil
}

func judgeAbsurdPodPrices(r *run) error {
	for client, hour := range periods(time.Hour) {
		_, err := r.podPrice(nil, hour)
		r.absurd(client+", no pod", err)
		_, err = r.podPrice([]byte{0xff, 0xff, 0xff}, hour)
		r.absurd(client+", bytes that are no pod", err)
	}
	pod, err := smallPod()
	if err != nil {
		return err
	}
	_, err = r.podPrice(pod, period{})
	r.absurd("no period", err)
	return nil
}

// hourly is the price of the machines of the pricing cases; no other pool declares one.
const hourly = "0.25"

func judgeNodePrice(r *run) error {
	group, err := r.pool(Pool{Machines: 1, Hourly: hourly})
	if err != nil {
		return err
	}
	template, err := r.templateOf(group)
	if err != nil {
		return err
	}
	node := &pb.ExternalGrpcNode{Name: template.Name, Labels: template.Labels, Annotations: template.Annotations}
	for client, hours := range periods(8 * time.Hour) {
		if price, err := r.nodePrice(node, hours); err != nil || math.Abs(price-2) > 1e-9 {
			r.differ("%s: eight hours at %s cost %v, %v", client, hourly, price, err)
		}
	}
	_, ids, err := r.requested(Pool{Machines: 1}, 1)
	if err != nil {
		return err
	}
	for client, hour := range periods(time.Hour) {
		if _, err := r.nodePrice(invented(ids[0], "unregistered"), hour); status.Code(err) != codes.Unimplemented {
			r.differ("%s: a machine without a price: answered %s", client, status.Code(err))
		}
	}
	return nil
}

func smallPod() ([]byte, error) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}}}
	raw, err := pod.Marshal()
	if err != nil {
		return nil, fmt.Errorf("writing a pod: %w", err)
	}
	return raw, nil
}

func judgePodPrice(r *run) error {
	if _, err := r.pool(Pool{Machines: 1, Hourly: hourly}); err != nil {
		return err
	}
	pod, err := smallPod()
	if err != nil {
		return err
	}
	seen := map[float64]string{}
	for client, hours := range periods(8 * time.Hour) {
		price, err := r.podPrice(pod, hours)
		if err != nil || !(price > 0 && price <= 2) {
			r.differ("%s: a small pod on a machine of %s costs %v in eight hours, %v", client, hourly, price, err)
		}
		seen[price] = client
	}
	if len(seen) > 1 {
		r.differ("the price depends on the client: %v", seen)
	}
	return nil
}
