package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// syncStatus brings the kubeNode's status up to date if it says something else than this kubelet does, or has not
// been renewed for long. On a missing object it does nothing: one registration per boot.
func (k *Kubelet) syncStatus(ctx context.Context) {
	nodes := k.cfg.Client.CoreV1().Nodes()
	current, err := nodes.Get(ctx, k.cfg.Spec.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if !k.missing {
			k.missing = true
			k.cfg.OnMissing()
		}
		return
	}
	if err != nil {
		k.cfg.Log.Debug("reading own node", "node", k.cfg.Spec.Name, "err", err)
		return
	}
	now := metav1.Now()
	want := current.DeepCopy()
	k.cfg.Spec.fillStatus(&want.Status, true, now)
	if sameButHeartbeat(current.Status, want.Status) && now.Sub(k.reported) < reportEvery {
		return
	}
	if err := k.patchStatus(ctx, current, want); err != nil {
		k.cfg.Log.Debug("patching own status", "node", k.cfg.Spec.Name, "err", err)
		return
	}
	k.reported = now.Time
	if !k.ready {
		k.ready = true
		k.cfg.OnReady()
	}
}

func (k *Kubelet) patchStatus(ctx context.Context, from, to *corev1.Node) error {
	before, err := json.Marshal(corev1.Node{Status: from.Status})
	if err != nil {
		return fmt.Errorf("encoding status: %w", err)
	}
	after, err := json.Marshal(corev1.Node{Status: to.Status})
	if err != nil {
		return fmt.Errorf("encoding status: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
	if err != nil {
		return fmt.Errorf("comparing statuses: %w", err)
	}
	_, err = k.cfg.Client.CoreV1().Nodes().
		Patch(ctx, from.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// fillStatus writes everything a kubelet reports into status and leaves the rest alone.
func (s Spec) fillStatus(status *corev1.NodeStatus, ready bool, now metav1.Time) {
	status.Capacity = merged(status.Capacity, s.Capacity)
	status.Allocatable = merged(status.Allocatable, s.Capacity)
	// Only an address of type InternalIP: the API server prefers a Hostname where there is one, and a simulated
	// machine's name resolves nowhere.
	status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: loopback}}
	status.DaemonEndpoints.KubeletEndpoint.Port = s.Port
	status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: s.Name, SystemUUID: s.Name, BootID: s.BootID,
		KubeletVersion: s.Version, OSImage: "homelab-autoscaler sandbox", ContainerRuntimeVersion: "processes://1",
		OperatingSystem: string(corev1.Linux), Architecture: runtime.GOARCH,
	}
	for _, pressure := range []struct {
		of     corev1.NodeConditionType
		reason string
	}{
		{corev1.NodeMemoryPressure, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, "KubeletHasSufficientPID"},
	} {
		setCondition(status, pressure.of, corev1.ConditionFalse, pressure.reason, now)
	}
	if ready {
		setCondition(status, corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", now)
	} else {
		setCondition(status, corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", now)
	}
}

// loopback is where everything of the sandbox listens.
const loopback = "127.0.0.1"

func merged(into, from corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, into)
	for name, quantity := range from {
		if old, ok := out[name]; !ok || old.Cmp(quantity) != 0 {
			out[name] = quantity
		}
	}
	return out
}

// setCondition moves the transition time only where the status really changes.
func setCondition(status *corev1.NodeStatus, of corev1.NodeConditionType, is corev1.ConditionStatus,
	reason string, now metav1.Time) {
	next := corev1.NodeCondition{
		Type: of, Status: is, Reason: reason, Message: "reported by the machine room",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	for i, old := range status.Conditions {
		if old.Type != of {
			continue
		}
		if old.Status == is {
			next.LastTransitionTime = old.LastTransitionTime
		}
		status.Conditions[i] = next
		return
	}
	status.Conditions = append(status.Conditions, next)
}

func sameButHeartbeat(a, b corev1.NodeStatus) bool {
	return equality.Semantic.DeepEqual(withoutHeartbeats(a), withoutHeartbeats(b))
}

func withoutHeartbeats(status corev1.NodeStatus) corev1.NodeStatus {
	out := *status.DeepCopy()
	for i := range out.Conditions {
		out.Conditions[i].LastHeartbeatTime = metav1.NewTime(time.Time{})
	}
	return out
}
