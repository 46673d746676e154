package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// secret reads a Secret of the pod's namespace; an optional one that is missing is empty.
func (r *podRun) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	secret, err := r.k.cfg.Client.CoreV1().Secrets(r.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessOptional(err, optional, "secret", name)
	}
	return secret.Data, nil
}

// configMap reads a ConfigMap of the pod's namespace; an optional one that is missing is empty.
func (r *podRun) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	config, err := r.k.cfg.Client.CoreV1().ConfigMaps(r.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessOptional(err, optional, "configmap", name)
	}
	data := map[string][]byte{}
	maps.Copy(data, config.BinaryData)
	for key, value := range config.Data {
		data[key] = []byte(value)
	}
	return data, nil
}

func unlessOptional(err error, optional *bool, kind, name string) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("reading %s %s: %w", kind, name, err)
}

// field answers the downward API's field paths.
func (r *podRun) field(path string) (string, error) {
	if of, key, found := strings.Cut(strings.TrimSuffix(path, "']"), "['"); found {
		switch of {
		case "metadata.labels":
			return r.pod.Labels[key], nil
		case "metadata.annotations":
			return r.pod.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return r.pod.Name, nil
	case "metadata.namespace":
		return r.pod.Namespace, nil
	case "metadata.uid":
		return string(r.pod.UID), nil
	case "metadata.labels":
		return quotedLines(r.pod.Labels), nil
	case "metadata.annotations":
		return quotedLines(r.pod.Annotations), nil
	case "spec.nodeName":
		return r.pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return r.pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return loopback, nil
	case "status.podIP", "status.podIPs":
		return r.k.podIP(r.pod), nil
	}
	return "", fmt.Errorf("the downward API has no field %q", path)
}

func quotedLines(values map[string]string) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&out, "%s=%s\n", key, strconv.Quote(values[key]))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// quantityOf answers a container's requests and limits in units of the divisor, rounded up.
func quantityOf(c *corev1.Container, of *corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(of.Resource, ".")
	list := c.Resources.Limits
	switch kind {
	case "requests":
		list = c.Resources.Requests
	case "limits":
	default:
		return "", fmt.Errorf("the downward API has no resource %q", of.Resource)
	}
	divisor := of.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	value := list[corev1.ResourceName(name)]
	whole, unit := value.Value(), divisor.Value()
	if name == string(corev1.ResourceCPU) {
		whole, unit = value.MilliValue(), divisor.MilliValue()
	}
	return strconv.FormatInt((whole+unit-1)/unit, 10), nil
}
