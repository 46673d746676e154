package externalgrpc

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// contract is every field of the wire, by message: name, number, type. A slip in any of them is silent on the wire.
var contract = map[string][]string{
	"NodeGroup":                           {"id 1 string", "minSize 2 int32", "maxSize 3 int32", "debug 4 string"},
	"ExternalGrpcNode":                    {"providerID 1 string", "name 2 string", "labels 3 map<string,string>", "annotations 4 map<string,string>"},
	"NodeGroupsRequest":                   nil,
	"NodeGroupsResponse":                  {"nodeGroups 1 repeated NodeGroup"},
	"NodeGroupForNodeRequest":             {"node 1 ExternalGrpcNode"},
	"NodeGroupForNodeResponse":            {"nodeGroup 1 NodeGroup"},
	"PricingNodePriceRequest":             {"node 1 ExternalGrpcNode", "startTime 2 KubernetesTime", "endTime 3 KubernetesTime", "startTimestamp 4 Timestamp", "endTimestamp 5 Timestamp"},
	"PricingNodePriceResponse":            {"price 1 double"},
	"PricingPodPriceRequest":              {"pod 1 bytes", "startTime 2 KubernetesTime", "endTime 3 KubernetesTime", "pod_bytes 4 bytes", "startTimestamp 5 Timestamp", "endTimestamp 6 Timestamp"},
	"PricingPodPriceResponse":             {"price 1 double"},
	"GPULabelRequest":                     nil,
	"GPULabelResponse":                    {"label 1 string"},
	"GetAvailableGPUTypesRequest":         nil,
	"GetAvailableGPUTypesResponse":        {"gpuTypes 1 map<string,Any>"},
	"CleanupRequest":                      nil,
	"CleanupResponse":                     nil,
	"RefreshRequest":                      nil,
	"RefreshResponse":                     nil,
	"NodeGroupTargetSizeRequest":          {"id 1 string"},
	"NodeGroupTargetSizeResponse":         {"targetSize 1 int32"},
	"NodeGroupIncreaseSizeRequest":        {"delta 1 int32", "id 2 string"},
	"NodeGroupIncreaseSizeResponse":       nil,
	"NodeGroupDeleteNodesRequest":         {"nodes 1 repeated ExternalGrpcNode", "id 2 string"},
	"NodeGroupDeleteNodesResponse":        nil,
	"NodeGroupDecreaseTargetSizeRequest":  {"delta 1 int32", "id 2 string"},
	"NodeGroupDecreaseTargetSizeResponse": nil,
	"NodeGroupNodesRequest":               {"id 1 string"},
	"NodeGroupNodesResponse":              {"instances 1 repeated Instance"},
	"Instance":                            {"id 1 string", "status 2 InstanceStatus"},
	"InstanceStatus":                      {"instanceState 1 InstanceState", "errorInfo 2 InstanceErrorInfo"},
	"InstanceErrorInfo":                   {"errorCode 1 string", "errorMessage 2 string", "instanceErrorClass 3 int32"},
	"NodeGroupTemplateNodeInfoRequest":    {"id 1 string"},
	"NodeGroupTemplateNodeInfoResponse":   {"nodeInfo 1 bytes", "nodeBytes 2 bytes"},
	"NodeGroupAutoscalingOptions": {
		"scaleDownUtilizationThreshold 1 double", "scaleDownGpuUtilizationThreshold 2 double",
		"scaleDownUnneededTime 3 KubernetesDuration", "scaleDownUnreadyTime 4 KubernetesDuration", "MaxNodeProvisionTime 5 KubernetesDuration",
		"zeroOrMaxNodeScaling 6 bool", "ignoreDaemonSetsUtilization 7 bool",
		"scaleDownUnneededDuration 8 Duration", "scaleDownUnreadyDuration 9 Duration", "MaxNodeProvisionDuration 10 Duration",
	},
	"NodeGroupAutoscalingOptionsRequest":  {"id 1 string", "defaults 2 NodeGroupAutoscalingOptions"},
	"NodeGroupAutoscalingOptionsResponse": {"nodeGroupAutoscalingOptions 1 NodeGroupAutoscalingOptions"},
	// Kubernetes' two scalars, as they travel.
	"KubernetesTime":     {"seconds 1 int64", "nanos 2 int32"},
	"KubernetesDuration": {"duration 1 int64"},
}

func TestEveryMessageIsTheContracts(t *testing.T) {
	got := map[string][]string{}
	messages := File_externalgrpc_externalgrpc_proto.Messages()
	for i := range messages.Len() {
		message := messages.Get(i)
		var fields []string
		for j := range message.Fields().Len() {
			fields = append(fields, describe(message.Fields().Get(j)))
		}
		got[string(message.Name())] = fields
	}
	if diff := cmp.Diff(contract, got); diff != "" {
		t.Errorf("messages (-contract +ours):\n%s", diff)
	}
}

func describe(field protoreflect.FieldDescriptor) string {
	kind := kindOf(field)
	switch {
	case field.IsMap():
		kind = fmt.Sprintf("map<%s,%s>", kindOf(field.MapKey()), kindOf(field.MapValue()))
	case field.IsList():
		kind = "repeated " + kind
	}
	return fmt.Sprintf("%s %d %s", field.Name(), field.Number(), kind)
}

func kindOf(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.MessageKind:
		return string(field.Message().Name())
	case protoreflect.EnumKind:
		return string(field.Enum().Name())
	}
	return field.Kind().String()
}

func TestEveryCallIsTheContracts(t *testing.T) {
	service := File_externalgrpc_externalgrpc_proto.Services().ByName("CloudProvider")
	if got := string(service.FullName()); got != "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider" {
		t.Errorf("the service is %s", got)
	}
	calls := map[string]string{}
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		calls[string(method.Name())] = fmt.Sprintf("%s -> %s", method.Input().Name(), method.Output().Name())
		if method.IsStreamingClient() || method.IsStreamingServer() {
			t.Errorf("%s streams", method.Name())
		}
	}
	want := map[string]string{
		"NodeGroupGetOptions": "NodeGroupAutoscalingOptionsRequest -> NodeGroupAutoscalingOptionsResponse",
	}
	for _, name := range []string{
		"NodeGroups", "NodeGroupForNode", "PricingNodePrice", "PricingPodPrice", "GPULabel", "GetAvailableGPUTypes", "Cleanup", "Refresh",
		"NodeGroupTargetSize", "NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "NodeGroupDecreaseTargetSize", "NodeGroupNodes",
		"NodeGroupTemplateNodeInfo",
	} {
		want[name] = fmt.Sprintf("%[1]sRequest -> %[1]sResponse", name)
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-contract +ours):\n%s", diff)
	}
}

func TestStatesHaveTheirNumbers(t *testing.T) {
	want := map[string]int32{"unspecified": 0, "instanceRunning": 1, "instanceCreating": 2, "instanceDeleting": 3}
	if diff := cmp.Diff(want, InstanceStatus_InstanceState_value); diff != "" {
		t.Errorf("states (-contract +ours):\n%s", diff)
	}
}
