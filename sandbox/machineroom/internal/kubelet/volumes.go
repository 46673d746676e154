package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// file is one file of a volume.
type file struct {
	data []byte
	mode os.FileMode
}

// mountVolumes writes the volumes that c mounts into folders of the pod, and notes them in done by name.
func (r *podRun) mountVolumes(ctx context.Context, c *corev1.Container, done map[string]string) error {
	for _, m := range c.VolumeMounts {
		if _, ok := done[m.Name]; ok {
			continue
		}
		for _, volume := range r.pod.Spec.Volumes {
			if volume.Name != m.Name {
				continue
			}
			files, err := r.volumeFiles(ctx, volume.VolumeSource)
			if err != nil {
				return fmt.Errorf("mounting volume %s: %w", volume.Name, err)
			}
			folder := filepath.Join(r.dir, "volumes", volume.Name)
			if err := writeFiles(folder, files); err != nil {
				return fmt.Errorf("mounting volume %s: %w", volume.Name, err)
			}
			done[m.Name] = folder
		}
	}
	return nil
}

// volumeFiles returns the content of a volume. A projected service account token is left out on purpose: a local
// process gets no key to the API server.
func (r *podRun) volumeFiles(ctx context.Context, source corev1.VolumeSource) (map[string]file, error) {
	switch {
	case source.EmptyDir != nil:
		return nil, nil
	case source.Secret != nil:
		data, err := r.secret(ctx, source.Secret.SecretName, source.Secret.Optional)
		return chosen(data, source.Secret.Items, source.Secret.DefaultMode, source.Secret.Optional, err)
	case source.ConfigMap != nil:
		data, err := r.configMap(ctx, source.ConfigMap.Name, source.ConfigMap.Optional)
		return chosen(data, source.ConfigMap.Items, source.ConfigMap.DefaultMode, source.ConfigMap.Optional, err)
	case source.DownwardAPI != nil:
		return r.downward(source.DownwardAPI.Items, source.DownwardAPI.DefaultMode)
	case source.Projected != nil:
		return r.projected(ctx, source.Projected)
	}
	return nil, fmt.Errorf("only secret, configMap, downwardAPI, projected and emptyDir volumes exist in the machine room")
}

func (r *podRun) projected(ctx context.Context, source *corev1.ProjectedVolumeSource) (map[string]file, error) {
	all := map[string]file{}
	for _, part := range source.Sources {
		var files map[string]file
		var err error
		switch {
		case part.Secret != nil:
			data, readErr := r.secret(ctx, part.Secret.Name, part.Secret.Optional)
			files, err = chosen(data, part.Secret.Items, source.DefaultMode, part.Secret.Optional, readErr)
		case part.ConfigMap != nil:
			data, readErr := r.configMap(ctx, part.ConfigMap.Name, part.ConfigMap.Optional)
			files, err = chosen(data, part.ConfigMap.Items, source.DefaultMode, part.ConfigMap.Optional, readErr)
		case part.DownwardAPI != nil:
			files, err = r.downward(part.DownwardAPI.Items, source.DefaultMode)
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(all, files)
	}
	return all, nil
}

func (r *podRun) downward(items []corev1.DownwardAPIVolumeFile, mode *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		if item.FieldRef == nil {
			return nil, fmt.Errorf("only field references exist in a downwardAPI volume of the machine room")
		}
		value, err := r.field(item.FieldRef.FieldPath)
		if err != nil {
			return nil, err
		}
		files[item.Path] = file{data: []byte(value), mode: fileMode(item.Mode, mode)}
	}
	return files, nil
}

// chosen picks items out of data, or all of it where none are named.
func chosen(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool, err error) (
	map[string]file, error,
) {
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	for _, item := range items {
		value, found := data[item.Key]
		if !found && (optional == nil || !*optional) {
			return nil, fmt.Errorf("there is no key %q", item.Key)
		}
		if found {
			files[item.Path] = file{data: value, mode: fileMode(item.Mode, mode)}
		}
	}
	if len(items) == 0 {
		for name, value := range data {
			files[name] = file{data: value, mode: fileMode(nil, mode)}
		}
	}
	return files, nil
}

func fileMode(own, fallback *int32) os.FileMode {
	switch {
	case own != nil:
		return os.FileMode(*own)
	case fallback != nil:
		return os.FileMode(*fallback)
	}
	return 0o644
}

func writeFiles(folder string, files map[string]file) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, f := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		// Removed first: an earlier attempt may have left a file that its mode makes read-only.
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}
