package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The waiting reasons of a container that cannot be started yet, as a kubelet writes them.
const (
	reasonCreating    = "ContainerCreating"
	reasonConfigError = "CreateContainerConfigError"
)

// prepareOnce makes every container of the pod that has a command ready to start: its own, or that of its image where it
// is known. Any other container has no launch and sleeps.
func (r *podRun) prepareOnce(ctx context.Context) (launches map[string]*launch, reason string, err error) {
	launches = map[string]*launch{}
	volumes := map[string]string{}
	for _, list := range [][]corev1.Container{r.pod.Spec.InitContainers, r.pod.Spec.Containers} {
		for i := range list {
			c := &list[i]
			command := r.command(c)
			if len(command) == 0 {
				continue
			}
			if err := r.mountVolumes(ctx, c, volumes); err != nil {
				return nil, reasonCreating, err
			}
			env, err := r.environment(ctx, c)
			if err != nil {
				return nil, reasonConfigError, err
			}
			if launches[c.Name], err = r.launch(c, command, env, volumes); err != nil {
				return nil, reasonConfigError, err
			}
		}
	}
	return launches, "", nil
}

func (r *podRun) command(c *corev1.Container) []string {
	switch program := r.k.cfg.Programs[repository(c.Image)]; {
	case len(c.Command) > 0 && len(program.Command) > 0:
		return slices.Concat(program.Command, c.Command[1:])
	case len(c.Command) > 0:
		return c.Command
	}
	return r.k.cfg.Images[c.Image]
}

// repository is an image's name without its tag.
func repository(image string) string {
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		return image[:at]
	}
	return image
}

// launch puts command, environment and paths together. There is no file system of the container's own: where its
// mount paths, its termination message path and its working directory are mentioned, the folders that stand for them
// are put instead.
func (r *podRun) launch(c *corev1.Container, command []string, env *environment, volumes map[string]string) (*launch, error) {
	home := filepath.Join(r.dir, "work")
	out := &launch{
		log:      r.logFile(c.Name),
		message:  filepath.Join(r.dir, c.Name+".message"),
		fallback: c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
	}
	mounts := []mount{{path: c.TerminationMessagePath, host: out.message}}
	for _, m := range c.VolumeMounts {
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = expand(m.SubPathExpr, env.values)
		}
		mounts = append(mounts, mount{path: strings.TrimRight(m.MountPath, "/"), host: filepath.Join(volumes[m.Name], sub)})
	}
	for _, word := range slices.Concat(command, c.Args) {
		out.argv = append(out.argv, relocate(expand(word, env.values), mounts))
	}
	out.env = append(append(env.list(mounts), "HOME="+home), r.k.cfg.Programs[repository(c.Image)].Env...)
	out.dir = home
	if moved := relocate(c.WorkingDir, mounts); moved != c.WorkingDir {
		out.dir = moved
	} else if c.WorkingDir != "" {
		out.dir = filepath.Join(home, c.WorkingDir)
	}
	if err := os.MkdirAll(out.dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating working directory: %w", err)
	}
	return out, nil
}

func (r *podRun) logFile(container string) string { return filepath.Join(r.dir, container+".log") }
