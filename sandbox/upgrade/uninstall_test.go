package upgrade_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const inUse = `apiVersion: infra.homecluster.dev/v2alpha1
kind: Group
metadata: {name: pool}
---
apiVersion: infra.homecluster.dev/v2alpha1
kind: Node
metadata: {name: m, labels: {group: pool}, finalizers: [infra.homecluster.dev/slot-finalizer]}
spec: {kubernetesNodeName: m, startupPodSpec: {image: a}, shutdownPodSpec: {image: b}}
---
apiVersion: infra.homecluster.dev/v2alpha1
kind: NodeClaim
metadata: {name: c, labels: {group: pool, infra.homecluster.dev/node: m}, finalizers: [infra.homecluster.dev/nodeclaim-finalizer]}
spec: {slotRef: {name: m}, request: {call: Create, group: pool}}
`

// No kubelet is here to run the hook.
func TestWhenTheHookCannotRunThereIsAnotherWay(t *testing.T) {
	page, h := readGuide(t, "uninstall.md"), newHome(t)
	h.inUse(t)
	if out, code := h.sh(t, "helm uninstall homelab-autoscaler --timeout 3s -n "+namespace); code == 0 {
		t.Fatalf("Helm did not wait for the hook:\n%s", out)
	}
	if left := h.must(t, "kubectl get deployments -n "+namespace+" -o name"); !strings.Contains(left, "homelab-autoscaler-controller-manager") {
		t.Errorf("Helm gave up, and left\n%s", left)
	}
	h.must(t, page.blocks("When the Job cannot run", "sh")[0])
	h.nothingIsStuck(t)
}

// The hook is run with its own arguments and its own rights, by a stand-in for a kubelet.
func TestHelmUninstallLeavesNothingThatIsStuck(t *testing.T) {
	page, h := readGuide(t, "uninstall.md"), newHome(t)
	h.inUse(t)
	told := make(chan string, 1)
	go func() { told <- h.runHook(t) }()
	blocks := page.blocks("Uninstall the release", "sh")
	h.must(t, blocks[0])
	said := <-told
	for _, want := range []string{"deployment homelab-autoscaler-cluster-autoscaler is told to stop\n", "deployment homelab-autoscaler-controller-manager is told to stop\n",
		"machine of slot m: ", "2 claims and slots are released", "exit code 0"} {
		if !strings.Contains(said, want) {
			t.Errorf("the hook does not say %q:\n%s", want, said)
		}
	}
	h.nothingIsStuck(t)
	h.must(t, blocks[1])
	if out := h.must(t, "kubectl get namespaces -o name"); strings.Contains(out, namespace) {
		t.Errorf("the namespace is still there:\n%s", out)
	}
}

// inUse installs the chart, and a machine that is in use.
func (h *home) inUse(t *testing.T) {
	t.Helper()
	h.must(t, "helm install homelab-autoscaler charts/homelab-autoscaler -n "+namespace+" --create-namespace")
	h.must(t, "kubectl wait --for=condition=Established crd/nodes.infra.homecluster.dev crd/nodeclaims.infra.homecluster.dev crd/groups.infra.homecluster.dev")
	if err := os.WriteFile(filepath.Join(h.dir, "pool.yaml"), []byte(inUse), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(t, "kubectl apply -n "+namespace+" -f pool.yaml")
	h.must(t, "kubectl patch nodeclaim c -n "+namespace+` --subresource=status --type=merge -p '{"status":{"phase":"ready"}}'`)
}

// nothingIsStuck says whether the release is gone, and its kinds' objects are left without a finalizer.
func (h *home) nothingIsStuck(t *testing.T) {
	t.Helper()
	if left := h.must(t, "kubectl get nodeclaim,nodes.infra.homecluster.dev -n "+namespace+" -o jsonpath='{.items[*].metadata.name} {.items[*].metadata.finalizers}'"); left != "c m " {
		t.Errorf("the definitions are kept, and of their objects is left %q", left)
	}
	if left := h.must(t, "kubectl get deployments,roles,rolebindings,jobs -n "+namespace+" -o name"); strings.Contains(left, "homelab") {
		t.Errorf("of the release is left\n%s", left)
	}
}

// runHook waits for the hook's Job, does what its pod would, and answers what that said.
func (h *home) runHook(t *testing.T) string {
	var job batchv1.Job
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		return h.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: release + "-quiesce"}, &job) == nil, nil
	})
	if err != nil {
		return fmt.Sprintf("no Job of the hook: %v", err)
	}
	pod := job.Spec.Template.Spec
	config, err := h.cp.UserConfig("system:serviceaccount:"+namespace+":"+pod.ServiceAccountName, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	if err == nil {
		err = h.cp.WriteKubeconfig(filepath.Join(h.dir, "hook.kubeconfig"), config)
	}
	if err != nil {
		return err.Error()
	}
	out, code := h.sh(t, "KUBECONFIG=hook.kubeconfig homelab-autoscaler "+strings.Join(pod.Containers[0].Args, " "))
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if err := h.client.Status().Update(t.Context(), &job); err != nil {
		out += err.Error()
	}
	return fmt.Sprintf("%s\nexit code %d", out, code)
}
