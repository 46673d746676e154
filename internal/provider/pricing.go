package provider

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// PricingNodePrice is what a node costs over a period: its slot's price. A node made from a template carries the name of
// the slot that would be taken.
func (s *Server) PricingNodePrice(_ context.Context, request *pb.PricingNodePriceRequest) (*pb.PricingNodePriceResponse, error) {
	ref, err := nodeRef(request.GetNode())
	if err != nil {
		return nil, err
	}
	period, err := period(request.GetStartTimestamp(), request.GetEndTimestamp(), request.GetStartTime(), request.GetEndTime())
	if err != nil {
		return nil, err
	}
	slot, ok := s.pricedSlot(ref, request.GetNode())
	if !ok {
		return nil, pool.Faultf(pool.Unknown, "node %s is of no slot", quoted(ref.Name))
	}
	price, ok := pool.PriceOf(pool.View{Policy: s.policy}, slot)
	if !ok {
		return nil, pool.Faultf(pool.NotOffered, "slot %s declares no price", slot.Name)
	}
	return &pb.PricingNodePriceResponse{Price: price.ForMachine(period)}, nil
}

// pricedSlot is the slot whose price a node has.
func (s *Server) pricedSlot(ref pool.NodeRef, node *pb.ExternalGrpcNode) (pool.Slot, bool) {
	if slot, ok := s.store.SlotFor(ref); ok {
		return slot, true
	}
	labels := node.GetLabels()
	if labels[v2.LabelNamespace] != s.namespace {
		return pool.Slot{}, false
	}
	return s.store.Slot(labels[v2.LabelNode])
}

// PricingPodPrice is what a pod costs over a period on the machine that runs it cheapest.
func (s *Server) PricingPodPrice(_ context.Context, request *pb.PricingPodPriceRequest) (*pb.PricingPodPriceResponse, error) {
	period, err := period(request.GetStartTimestamp(), request.GetEndTimestamp(), request.GetStartTime(), request.GetEndTime())
	if err != nil {
		return nil, err
	}
	pod, err := readPod(request)
	if err != nil {
		return nil, err
	}
	prices := s.store.World().Prices
	if len(prices) == 0 {
		return nil, pool.Faultf(pool.NotOffered, "no slot declares a price")
	}
	requests := pool.PodRequests(pod)
	cheapest, found := 0.0, false
	for _, price := range prices {
		if cost, fits := price.ForPod(requests, period); fits && (!found || cost < cheapest) {
			cheapest, found = cost, true
		}
	}
	if !found {
		return nil, pool.Faultf(pool.Refused, "pod %s fits no slot that declares a price", quoted(pod.Namespace+"/"+pod.Name))
	}
	return &pb.PricingPodPriceResponse{Price: cheapest}, nil
}

// readPod reads either generation's field, the newer first.
func readPod(request *pb.PricingPodPriceRequest) (*corev1.Pod, error) {
	raw := request.GetPodBytes()
	if len(raw) == 0 {
		raw = request.GetPod()
	}
	if len(raw) == 0 {
		return nil, pool.Faultf(pool.Malformed, "no pod is given")
	}
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(raw); err != nil {
		return nil, pool.Faultf(pool.Malformed, "the pod cannot be read: %v", err)
	}
	return pod, nil
}

// period reads either generation's fields, the newer first.
func period(start, end *timestamppb.Timestamp, oldStart, oldEnd *pb.KubernetesTime) (time.Duration, error) {
	return pool.Period(moment(start, oldStart), moment(end, oldEnd))
}

// moment is zero when neither is set or the value is out of range.
func moment(newer *timestamppb.Timestamp, older *pb.KubernetesTime) time.Time {
	if newer == nil && older != nil {
		newer = &timestamppb.Timestamp{Seconds: older.GetSeconds(), Nanos: older.GetNanos()}
	}
	if newer.CheckValid() != nil {
		return time.Time{}
	}
	return newer.AsTime()
}
