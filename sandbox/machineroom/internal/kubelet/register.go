package kubelet

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// register makes the Node object, or takes over the one that is there. It is called once per boot, and tries until it
// succeeds or ctx ends. fresh is true if the object was created here.
func (k *Kubelet) register(ctx context.Context) (fresh, ok bool) {
	for {
		fresh, err := k.tryRegister(ctx)
		if err == nil {
			return fresh, true
		}
		k.cfg.Log.Debug("registering", "node", k.cfg.Spec.Name, "err", err)
		if !pause(ctx, registerEvery) {
			return false, false
		}
	}
}

func (k *Kubelet) tryRegister(ctx context.Context) (fresh bool, err error) {
	nodes := k.cfg.Client.CoreV1().Nodes()
	_, err = nodes.Create(ctx, k.cfg.Spec.object(time.Now()), metav1.CreateOptions{})
	if err == nil {
		return true, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return false, fmt.Errorf("creating node %s: %w", k.cfg.Spec.Name, err)
	}
	existing, err := nodes.Get(ctx, k.cfg.Spec.Name, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("reading node %s: %w", k.cfg.Spec.Name, err)
	}
	want := existing.DeepCopy()
	if !mergeLabels(want, k.cfg.Spec.wellKnownLabels()) {
		return false, nil
	}
	if _, err := nodes.Update(ctx, want, metav1.UpdateOptions{}); err != nil {
		return false, fmt.Errorf("putting node %s's well-known labels right: %w", k.cfg.Spec.Name, err)
	}
	return false, nil
}

// mergeLabels says whether anything had to change.
func mergeLabels(kubeNode *corev1.Node, labels map[string]string) bool {
	changed := false
	for key, value := range labels {
		if kubeNode.Labels[key] != value {
			metav1.SetMetaDataLabel(&kubeNode.ObjectMeta, key, value)
			changed = true
		}
	}
	return changed
}

func (s Spec) wellKnownLabels() map[string]string {
	return map[string]string{
		corev1.LabelHostname:   s.Name,
		corev1.LabelOSStable:   string(corev1.Linux),
		corev1.LabelArchStable: runtime.GOARCH,
	}
}

// object is the Node as it is created: not Ready yet, since a kubelet registers before it has looked at itself.
func (s Spec) object(now time.Time) *corev1.Node {
	labels := s.wellKnownLabels()
	maps.Copy(labels, s.Labels)
	kubeNode := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: s.ProviderID, Taints: s.Taints},
	}
	s.fillStatus(&kubeNode.Status, false, metav1.NewTime(now))
	return kubeNode
}
