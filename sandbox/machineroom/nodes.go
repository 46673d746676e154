package machineroom

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"homecluster.dev/autoscaler/sandbox/machineroom/internal/kubelet"
)

// AlwaysOn describes a node that has no switch and executes the commands of its pods as local processes.
type AlwaysOn struct {
	// ControlPlane gives the node the control-plane role and the taint that goes with it.
	ControlPlane bool
	// Capacity is what it offers. Default: as a machine's.
	Capacity corev1.ResourceList
	Labels   map[string]string
	Taints   []corev1.Taint
}

// controlPlane is the label and the taint key of a control-plane node.
const controlPlane = "node-role.kubernetes.io/control-plane"

// ControlPlane is the change for AddAlwaysOn that makes the node a control-plane node.
func ControlPlane(a *AlwaysOn) { a.ControlPlane = true }

// AddAlwaysOn starts a node that is there for as long as the room. It returns at once; the log says when it is Ready.
func (r *Room) AddAlwaysOn(name string, changes ...func(*AlwaysOn)) error {
	if name == "" {
		return fmt.Errorf("an always-on node needs a name")
	}
	if r.client == nil {
		return fmt.Errorf("adding node %s: the room has no cluster", name)
	}
	node := AlwaysOn{Capacity: DefaultCapacity(), Labels: map[string]string{}}
	for _, change := range changes {
		change(&node)
	}
	if node.ControlPlane {
		node.Labels[controlPlane] = ""
		node.Taints = append(node.Taints, corev1.Taint{Key: controlPlane, Effect: corev1.TaintEffectNoSchedule})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.takeName(name); err != nil {
		return err
	}
	note := func(kind Kind) { r.log.add(Event{Machine: name, Kind: kind, On: true, Source: sourceItself}) }
	config := r.kubeletConfig(kubelet.Spec{
		Name: name, Labels: node.Labels, Taints: node.Taints, Capacity: node.Capacity,
		BootID: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()),
	}, osEvents{
		registered: func(fresh bool) { note(registrationKind(fresh)) },
		ready:      func() { note(Ready) },
		missing:    func() { note(NodeMissing) },
	})
	config.Execute, config.Images, config.Address = true, r.opts.Images, r.opts.Address
	config.Programs = map[string]kubelet.Program{powerProgramImage: r.power()}
	r.work.Go(func() { r.operate(r.ctx, config) })
	return nil
}

// powerProgramImage is the image of the program power, of whatever tag.
const powerProgramImage = "homecluster.dev/power"

// power is what stands for the program power in its image.
func (r *Room) power() kubelet.Program {
	program := kubelet.Program{Command: r.opts.PowerCommand}
	if r.opts.rerun {
		program.Env = []string{asPowerCommand + "=1"}
	}
	return program
}

func registrationKind(fresh bool) Kind {
	if fresh {
		return Registered
	}
	return Rejoined
}

// runKubelet is the software of a machine.
func (r *Room) runKubelet(ctx context.Context, m *Metal, tell osEvents) {
	r.operate(ctx, r.kubeletConfig(kubelet.Spec{
		Name: m.KubeNode(), Labels: m.spec.Labels, Capacity: m.spec.Capacity, ProviderID: m.spec.ProviderID,
		Taints: slices.Concat(m.spec.Taints, m.startupTaints()),
		BootID: fmt.Sprintf("%s-%d", m.Name(), time.Now().UnixNano()),
	}, tell))
}

func (r *Room) kubeletConfig(spec kubelet.Spec, tell osEvents) kubelet.Config {
	spec.Port, spec.Version = r.endpoint.port, r.version
	return kubelet.Config{
		Client: r.client, Spec: spec, Dir: filepath.Join(r.opts.Dir, "pods"),
		Pods:          func() []*corev1.Pod { return r.podsOn(spec.Name) },
		LeaseInterval: r.opts.LeaseInterval, StatusInterval: r.opts.StatusInterval, Log: r.opts.Log,
		OnRegistered: tell.registered, OnReady: tell.ready, OnMissing: tell.missing,
	}
}

// operate runs a kubelet where pod events and log readers find it.
func (r *Room) operate(ctx context.Context, config kubelet.Config) {
	k := kubelet.New(config)
	r.mu.Lock()
	r.kubelets[config.Spec.Name] = k
	r.mu.Unlock()
	k.Run(ctx)
	r.mu.Lock()
	delete(r.kubelets, config.Spec.Name)
	r.mu.Unlock()
}

func (r *Room) kubeletOf(kubeNode string) *kubelet.Kubelet {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kubelets[kubeNode]
}

func (r *Room) poke(kubeNode string) {
	if k := r.kubeletOf(kubeNode); k != nil {
		k.Poke()
	}
}

// startupTaints are the taints that the network agent of this machine has to lift.
func (m *Metal) startupTaints() []corev1.Taint {
	if len(m.spec.StartupTaints) == 0 && m.Temperament().TaintLingers.Duration != 0 {
		return []corev1.Taint{gateTaint}
	}
	return m.spec.StartupTaints
}

// liftTaints is a machine's network agent: it begins when the node is Ready, and its work is to take the startup
// taints away in time. Where they are to linger it first sees to it that they are there.
func (r *Room) liftTaints(ctx context.Context, m *Metal) {
	taints, readyAt := m.startupTaints(), time.Now()
	if len(taints) == 0 {
		return
	}
	if m.Temperament().TaintLingers.Duration != 0 {
		r.changeTaints(ctx, m, func(old []corev1.Taint) []corev1.Taint { return slices.Concat(without(old, taints), taints) })
	}
	if !m.hold(ctx, readyAt, func(t Temperament) time.Duration {
		if t.TaintLingers.Duration < 0 {
			return Forever
		}
		return m.spec.StartupTaintDelay + t.TaintLingers.Duration
	}) {
		return
	}
	if r.changeTaints(ctx, m, func(old []corev1.Taint) []corev1.Taint { return without(old, taints) }) {
		m.noteIf(ctx, TaintsLifted, m.KubeNode())
	}
}

// changeTaints says whether the kubeNode has the changed taints; it tries until then, or until ctx ends.
func (r *Room) changeTaints(ctx context.Context, m *Metal, change func([]corev1.Taint) []corev1.Taint) bool {
	nodes := r.client.CoreV1().Nodes()
	for ctx.Err() == nil {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			kubeNode, err := nodes.Get(ctx, m.KubeNode(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			kubeNode.Spec.Taints = change(kubeNode.Spec.Taints)
			_, err = nodes.Update(ctx, kubeNode, metav1.UpdateOptions{})
			return err
		})
		if err == nil {
			return true
		}
		r.opts.Log.Debug("changing startup taints", "node", m.KubeNode(), "err", err)
		m.hold(ctx, time.Now(), func(Temperament) time.Duration { return r.opts.StatusInterval })
	}
	return false
}

func without(taints, dropped []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool {
		return slices.ContainsFunc(dropped, func(d corev1.Taint) bool { return t.MatchTaint(&d) })
	})
}
