package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// environment is a container's variables. Of the sandbox's own environment only PATH is passed on.
type environment struct {
	values map[string]string
}

// list renders the environment for a process; HOME is the caller's to set.
func (e *environment) list(mounts []mount) []string {
	out := make([]string, 0, len(e.values))
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		out = append(out, name+"="+relocate(e.values[name], mounts))
	}
	return out
}

// environment resolves envFrom, then env, in their order; a later name wins, and a value may refer to earlier names.
func (r *podRun) environment(ctx context.Context, c *corev1.Container) (*environment, error) {
	hostname := r.pod.Spec.Hostname
	if hostname == "" {
		hostname = r.pod.Name
	}
	values := map[string]string{"PATH": os.Getenv("PATH"), "HOSTNAME": hostname}
	for _, from := range c.EnvFrom {
		if err := r.importAll(ctx, from, values); err != nil {
			return nil, err
		}
	}
	for _, variable := range c.Env {
		if variable.ValueFrom == nil {
			values[variable.Name] = expand(variable.Value, values)
			continue
		}
		value, found, err := r.valueFrom(ctx, c, variable.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("resolving %s: %w", variable.Name, err)
		}
		if found {
			values[variable.Name] = value
		}
	}
	return &environment{values: values}, nil
}

func (r *podRun) importAll(ctx context.Context, from corev1.EnvFromSource, values map[string]string) error {
	var data map[string][]byte
	var err error
	switch {
	case from.SecretRef != nil:
		data, err = r.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
	case from.ConfigMapRef != nil:
		data, err = r.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	}
	for name, value := range data {
		values[from.Prefix+name] = string(value)
	}
	return err
}

// valueFrom returns found=false for an optional key that is not there.
func (r *podRun) valueFrom(ctx context.Context, c *corev1.Container, from *corev1.EnvVarSource) (
	value string, found bool, err error,
) {
	switch {
	case from.SecretKeyRef != nil:
		data, err := r.secret(ctx, from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		return pick(data, from.SecretKeyRef.Key, from.SecretKeyRef.Optional, err)
	case from.ConfigMapKeyRef != nil:
		data, err := r.configMap(ctx, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		return pick(data, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional, err)
	case from.FieldRef != nil:
		value, err := r.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err := quantityOf(c, from.ResourceFieldRef)
		return value, true, err
	}
	return "", false, fmt.Errorf("this source is not supported in the machine room")
}

func pick(data map[string][]byte, key string, optional *bool, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, found := data[key]
	if !found && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("there is no key %q", key)
	}
	return string(value), found, nil
}
