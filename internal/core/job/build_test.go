package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

func params() Params {
	slot := &v2.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-01", Namespace: "power", UID: "slot-uid", Labels: map[string]string{v2.LabelGroup: "workers"}},
		Spec: v2.NodeSpec{
			KubernetesNodeName: "worker-01.lan",
			StartupPodSpec:     v2.MinimalPodSpec{Image: "ipmitool", Args: []string{"power", "on"}},
			ShutdownPodSpec:    v2.MinimalPodSpec{Image: "ipmitool", Args: []string{"power", "soft"}, TTLSecondsAfterFinished: ptr.To[int32](60)},
		},
	}
	claim := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-01-7f4b9c", UID: "claim-uid"},
		Spec:       v2.NodeClaimSpec{Request: v2.ClaimRequest{Group: "workers"}},
		Status:     v2.NodeClaimStatus{Attempt: 2},
	}
	return Params{Slot: slot, Claim: claim, Prefix: claim.Name, Operation: v2.OperationStartup, N: 1, Policy: policy.Default(), AlwaysOn: true}
}

func TestALifecycleJobRunsOneHardenedPodAtMostOnce(t *testing.T) {
	job := Build(params())
	want := batchv1.JobSpec{
		Parallelism:           ptr.To[int32](1),
		Completions:           ptr.To[int32](1),
		BackoffLimit:          ptr.To[int32](0),
		ActiveDeadlineSeconds: ptr.To[int64](300),
		PodReplacementPolicy:  ptr.To(batchv1.Failed),
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}}},
	}
	template := job.Spec.Template
	job.Spec.Template = corev1.PodTemplateSpec{}
	if diff := cmp.Diff(want, job.Spec); diff != "" {
		t.Errorf("Job spec (-want +got):\n%s", diff)
	}
	pod := template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever || ptr.Deref(pod.AutomountServiceAccountToken, true) {
		t.Errorf("the pod restarts (%s) or gets a token", pod.RestartPolicy)
	}
	if template.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "false" {
		t.Error("an autoscaler may evict the pod")
	}
	wantSecurity := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := cmp.Diff(wantSecurity, pod.Containers[0].SecurityContext); diff != "" {
		t.Errorf("container security (-want +got):\n%s", diff)
	}
	if pod.SecurityContext.RunAsNonRoot != nil {
		t.Error("a non-root user is forced, though common ipmitool images run as root")
	}
}

func TestTheJobIsOwnedByItsClaimAndItsSlot(t *testing.T) {
	job := Build(params())
	if job.Name != "worker-01-7f4b9c-up-1" || job.Namespace != "power" {
		t.Errorf("Job is %s/%s", job.Namespace, job.Name)
	}
	wantOwners := []metav1.OwnerReference{
		{APIVersion: "infra.homecluster.dev/v2alpha1", Kind: "NodeClaim", Name: "worker-01-7f4b9c", UID: "claim-uid", Controller: ptr.To(true)},
		{APIVersion: "infra.homecluster.dev/v2alpha1", Kind: "Node", Name: "worker-01", UID: "slot-uid"},
	}
	if diff := cmp.Diff(wantOwners, job.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{
		"group": "workers", "infra.homecluster.dev/node": "worker-01", "infra.homecluster.dev/nodeclaim": "worker-01-7f4b9c",
		"infra.homecluster.dev/operation": "startup", "infra.homecluster.dev/attempt": "2",
	}
	if diff := cmp.Diff(wantLabels, job.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	p := params()
	p.Claim, p.Prefix, p.Operation, p.N = nil, UnclaimedPrefix("worker-01", time.Unix(0, 0)), v2.OperationShutdown, 2
	unclaimed := Build(p)
	if owner := metav1.GetControllerOf(unclaimed); owner == nil || owner.UID != "slot-uid" {
		t.Errorf("the Job of an unclaimed machine is controlled by %v", owner)
	}
	if unclaimed.Name != p.Prefix+"-down-2" {
		t.Errorf("its name is %s", unclaimed.Name)
	}
}

func TestThePodRunsAwayFromTheMachineItActsOn(t *testing.T) {
	notThere := []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"worker-01.lan"}}}
	offSlots := []corev1.NodeSelectorRequirement{{Key: v2.LabelNode, Operator: corev1.NodeSelectorOpDoesNotExist}}
	tests := map[string]struct {
		alwaysOn bool
		want     *corev1.NodeAffinity
	}{
		"required off every slot when another node exists": {true, &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: notThere, MatchExpressions: offSlots,
			}}},
		}},
		"preferred off the slots when there is none": {false, &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: notThere}}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: offSlots},
			}},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := params()
			p.AlwaysOn = test.alwaysOn
			if diff := cmp.Diff(test.want, Build(p).Spec.Template.Spec.Affinity.NodeAffinity); diff != "" {
				t.Errorf("affinity (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatASlotAsksForWins(t *testing.T) {
	tests := map[string]struct {
		spec  v2.MinimalPodSpec
		check func(corev1.PodSpec) bool
	}{
		"a capability is added to none": {
			v2.MinimalPodSpec{SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_RAW"}}}},
			func(pod corev1.PodSpec) bool {
				c := pod.Containers[0].SecurityContext.Capabilities
				return len(c.Add) == 1 && len(c.Drop) == 1 && c.Drop[0] == "ALL"
			},
		},
		"a privileged container is left as it is": {
			v2.MinimalPodSpec{SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}},
			func(pod corev1.PodSpec) bool {
				return pod.Containers[0].SecurityContext.AllowPrivilegeEscalation == nil
			},
		},
		"a named ServiceAccount brings its token": {
			v2.MinimalPodSpec{ServiceAccount: "power"},
			func(pod corev1.PodSpec) bool {
				return pod.ServiceAccountName == "power" && *pod.AutomountServiceAccountToken
			},
		},
		"the host's network for a magic packet, with the cluster's names": {
			v2.MinimalPodSpec{HostNetwork: true},
			func(pod corev1.PodSpec) bool {
				return pod.HostNetwork && pod.DNSPolicy == corev1.DNSClusterFirstWithHostNet
			},
		},
		"secrets and config maps are mounted": {
			v2.MinimalPodSpec{Volumes: []v2.Volume{{Name: "key", MountPath: "/key", SecretName: "ssh", ReadOnly: true}, {Name: "conf", MountPath: "/conf", ConfigMapName: "conf"}}},
			func(pod corev1.PodSpec) bool {
				return pod.Volumes[0].Secret.SecretName == "ssh" && pod.Volumes[1].ConfigMap.Name == "conf" &&
					pod.Containers[0].VolumeMounts[0].ReadOnly
			},
		},
		"its tolerations come after ours": {
			v2.MinimalPodSpec{Tolerations: []corev1.Toleration{{Key: "mine"}}},
			func(pod corev1.PodSpec) bool { return len(pod.Tolerations) == 3 && pod.Tolerations[2].Key == "mine" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := params()
			p.Slot.Spec.StartupPodSpec = test.spec
			if pod := Build(p).Spec.Template.Spec; !test.check(pod) {
				t.Errorf("pod is %+v", pod)
			}
		})
	}
}

func TestThePolicyGivesThePodItsPriority(t *testing.T) {
	p := params()
	if class := Build(p).Spec.Template.Spec.PriorityClassName; class != "" {
		t.Errorf("nobody asked for the priority class %q", class)
	}
	p.Policy.JobPriorityClass = "power"
	if diff := cmp.Diff("power", Build(p).Spec.Template.Spec.PriorityClassName); diff != "" {
		t.Error(diff)
	}
}

func TestTTLComesFromTheOperationsPodSpec(t *testing.T) {
	slot := params().Slot
	if up, down := TTL(slot, v2.OperationStartup), TTL(slot, v2.OperationShutdown); up != 600 || down != 60 {
		t.Errorf("TTL is %d up and %d down, want 600 and 60", up, down)
	}
}
