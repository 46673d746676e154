package uninstall_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/quiesce"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) { house.Main(m, 4) }

func TestUninstall(t *testing.T) {
	h := house.New(t)
	t.Run("orders", func(t *testing.T) {
		for name, play := range map[string]func(home){
			"quiesced, then installed again":                                  installedAgain,
			"quiesced, then the namespace deleted":                            quiescedFirst,
			"the manager gone first":                                          managerFirst,
			"the namespace deleted first":                                     namespaceFirst,
			"quiesced while a machine was to be switched off":                 halfway,
			"the claims deleted first, as somebody who wants the power saved": claimsFirst,
			"quiesced while a tool starts again what is stopped":              startedAgain,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := home{h.Home(t, house.Options{})}
				h.Manage(h.ControlPlane.Config())
				h.Ask("mine", 0)
				h.inUse()
				play(h)
			})
		}
	})
}

type home struct{ *house.Home }

// inUse waits until the machine's claim is ready, finalizers and all.
func (h home) inUse() {
	h.T.Helper()
	h.Eventually("the machine is in use", func(ctx context.Context) string {
		claim, err := h.Claim(ctx, "mine")
		if err != nil || claim == nil || claim.Status.Phase != v2.ClaimReady || len(claim.Finalizers) != 1 {
			return fmt.Sprintf("the claim is %+v, %v", claim, err)
		}
		slot, err := h.Slot(ctx)
		if err != nil || slot == nil || len(slot.Finalizers) != 1 {
			return fmt.Sprintf("the slot is %+v, %v", slot, err)
		}
		return ""
	})
}

// quiesce runs what the command does, which must succeed. Where no Deployment of these names exists, there is nobody to stop:
// the managers run in this process.
func (h home) quiesce() string {
	h.T.Helper()
	var out bytes.Buffer
	if err := h.tryQuiesce(&out); err != nil {
		h.T.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func (h home) tryQuiesce(out io.Writer) error {
	q, err := quiesce.New(h.ControlPlane.Config(), quiesce.Options{Namespace: h.Namespace, Manager: "manager", Autoscaler: "autoscaler"}, kube.Clock{}, out)
	if err != nil {
		return err
	}
	return q.Run(h.T.Context())
}

func (h home) namespace(ctx context.Context) (*corev1.Namespace, error) {
	var namespace corev1.Namespace
	err := h.Client.Get(ctx, client.ObjectKey{Name: h.Namespace}, &namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return &namespace, err
}

func (h home) deleteNamespace() {
	h.T.Helper()
	if err := h.Client.Delete(h.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.Namespace}}); err != nil {
		h.T.Fatal(err)
	}
}

func (h home) namespaceGoes() {
	h.T.Helper()
	h.Eventually("the namespace goes", func(ctx context.Context) string {
		namespace, err := h.namespace(ctx)
		if err != nil || namespace != nil {
			return fmt.Sprintf("it is there: %+v, %v", namespace, err)
		}
		return ""
	})
}

// leftAlone fails if the machine was switched, or its kubeNode is no use to anybody.
func (h home) leftAlone() {
	h.T.Helper()
	if !h.IsOn() || h.Count(machineroom.PowerOffRequested, machineroom.SoftOffRequested, machineroom.PowerCycleRequested) > 0 {
		h.T.Errorf("the machine was switched off: %v", h.Room.Log(machineroom.Of(h.Machine)))
	}
	var kubeNode corev1.Node
	if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: h.Machine}, &kubeNode); err != nil || kubeNode.Spec.Unschedulable {
		h.T.Errorf("its kubeNode takes no pods: %v, %v", kubeNode.Spec, err)
	}
}

func installedAgain(h home) {
	h.Stop()
	if out := h.quiesce(); !strings.Contains(out, "machine of slot "+h.Machine+": it is on, and stays on with its pods\n2 claims and slots are released") {
		h.T.Errorf("it says\n%s", out)
	}
	claim, err := h.Claim(h.T.Context(), "mine")
	if err != nil || claim == nil || len(claim.Finalizers) > 0 || claim.Status.Phase != v2.ClaimReady {
		h.T.Fatalf("the claim is %+v, %v", claim, err)
	}
	if out := h.quiesce(); !strings.Contains(out, "0 claims and slots are released") {
		h.T.Errorf("the second time it says\n%s", out)
	}
	h.Manage(h.ControlPlane.Config())
	h.inUse()
	h.leftAlone()
}

func quiescedFirst(h home) {
	h.Stop()
	h.quiesce()
	h.deleteNamespace()
	h.namespaceGoes()
	h.leftAlone()
}

func managerFirst(h home) {
	h.Stop()
	h.deleteNamespace()
	want := stuckText(h.T)
	h.Eventually("the namespace is stuck", func(ctx context.Context) string {
		namespace, err := h.namespace(ctx)
		if err != nil || namespace == nil {
			return fmt.Sprintf("it is not: %v, %v", namespace, err)
		}
		for _, condition := range namespace.Status.Conditions {
			if condition.Type == corev1.NamespaceFinalizersRemaining && condition.Message == want {
				return ""
			}
		}
		return fmt.Sprintf("its conditions are %+v", namespace.Status.Conditions)
	})
	h.quiesce()
	h.namespaceGoes()
	h.leftAlone()
}

// stuckText is what the page says that a stuck namespace says.
func stuckText(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/uninstall.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```text\n")
	text, _, closed := strings.Cut(after, "\n```")
	if !found || !closed {
		t.Fatal("the page does not say how a stuck namespace looks")
	}
	return text
}

func namespaceFirst(h home) {
	h.deleteNamespace()
	h.namespaceGoes()
	h.leftAlone()
}

// halfway deletes the claim when no manager runs to reverse it, with the kubeNode cordoned as the last one left it.
func halfway(h home) {
	h.Stop()
	h.TakeBack("mine")
	var kubeNode corev1.Node
	if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: h.Machine}, &kubeNode); err != nil {
		h.T.Fatal(err)
	}
	before := kubeNode.DeepCopy()
	kubeNode.Spec.Unschedulable = true
	metav1.SetMetaDataAnnotation(&kubeNode.ObjectMeta, v2.AnnotationCordoned, "switching off")
	if err := h.Client.Patch(h.T.Context(), &kubeNode, client.MergeFrom(before)); err != nil {
		h.T.Fatal(err)
	}
	if out := h.quiesce(); !strings.Contains(out, "nothing has been sent to it: it is left as it is, and takes pods again") {
		h.T.Errorf("it says\n%s", out)
	}
	if claim, err := h.Claim(h.T.Context(), "mine"); claim != nil || err != nil {
		h.T.Errorf("the claim is %+v, %v", claim, err)
	}
	h.leftAlone()
}

func claimsFirst(h home) {
	h.TakeBack("mine")
	h.Eventually("the claim goes when the machine is off", func(ctx context.Context) string {
		if claim, err := h.Claim(ctx, "mine"); claim != nil || err != nil {
			return fmt.Sprintf("it is there: %v", err)
		}
		if slot, err := h.Slot(ctx); err != nil || slot == nil || len(slot.Finalizers) > 0 {
			return fmt.Sprintf("the slot is %+v, %v", slot, err)
		}
		return ""
	})
	if h.IsOn() {
		h.T.Error("the machine is on")
	}
	h.Stop()
	if out := h.quiesce(); !strings.Contains(out, "machine of slot "+h.Machine+": it is off, or silent, and stays so\n0 claims and slots are released") {
		h.T.Errorf("it says\n%s", out)
	}
	h.deleteNamespace()
	h.namespaceGoes()
}

// startedAgain stops a Deployment that comes back as soon as that is said, as one does that a tool keeps as it is in Git.
func startedAgain(h home) {
	h.Stop()
	labels := map[string]string{"app": "autoscaler"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "autoscaler"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: labels, Containers: []corev1.Container{{Name: "a", Image: "a"}}}}}}
	if err := h.Client.Create(h.T.Context(), deployment); err != nil {
		h.T.Fatal(err)
	}
	tool := healer{h}
	if err := h.tryQuiesce(tool); err == nil || !strings.Contains(err.Error(), "deployment autoscaler was stopped, and somebody has started it again") {
		h.T.Errorf("it says %v", err)
	}
	claim, err := h.Claim(h.T.Context(), "mine")
	if err != nil || claim == nil || len(claim.Finalizers) != 1 {
		h.T.Errorf("while somebody asks for machines, nothing is let go of: %+v, %v", claim, err)
	}
	h.quiesce()
	h.leftAlone()
}

// healer starts the Deployment again when it is told that it stops.
type healer struct{ home }

func (a healer) Write(said []byte) (int, error) {
	if strings.Contains(string(said), "deployment autoscaler is told to stop") {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "autoscaler"}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))
		if err := a.Client.Patch(a.T.Context(), deployment, patch); err != nil {
			return 0, err
		}
	}
	return len(said), nil
}
