package machineroom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"homecluster.dev/autoscaler/sandbox/machineroom/internal/kubelet"
)

// Room holds machines and always-on nodes of one cluster.
type Room struct {
	opts Options
	// software is what comes up on the machines.
	software software
	client   kubernetes.Interface
	version  string
	log      *powerLog
	pods     cache.SharedIndexInformer
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	ownDir   bool

	stopOnce sync.Once
	stopped  error

	switches, endpoint *server

	mu       sync.Mutex
	machines map[string]*Metal
	nodes    map[string]bool // names of kubeNodes that are taken
	kubelets map[string]*kubelet.Kubelet
}

// byNode is the index of pods by the kubeNode they are bound to.
const byNode = "node"

// New opens a room for the cluster behind config. It lasts until Stop or the end of ctx.
func New(ctx context.Context, config *rest.Config, opts Options) (*Room, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("reading the room's options: %w", err)
	}
	r := &Room{
		opts: opts, machines: map[string]*Metal{}, nodes: map[string]bool{}, kubelets: map[string]*kubelet.Kubelet{},
	}
	r.software = r.runKubelet
	r.ctx, r.cancel = context.WithCancel(ctx)
	for _, step := range []func(*rest.Config) error{r.connect, r.openFolder, r.watchPods, r.serve} {
		if err := step(config); err != nil {
			return nil, errors.Join(err, r.Stop())
		}
	}
	return r, nil
}

// Bare opens a room without a cluster, for those who need machines with power and switches and no Kubernetes: a machine
// that is up runs an operating system without a kubelet.
func Bare(ctx context.Context, opts Options) (*Room, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("reading the room's options: %w", err)
	}
	r := &Room{opts: opts, machines: map[string]*Metal{}, nodes: map[string]bool{}, software: idle}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if err := r.openFolder(nil); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	if r.switches, err = serveSwitches(r); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// idle is an operating system that does nothing.
func idle(ctx context.Context, _ *Metal, _ osEvents) { <-ctx.Done() }

func (r *Room) connect(config *rest.Config) error {
	config = rest.CopyConfig(config)
	// A dozen kubelets in one process are not one kubelet.
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "homelab-autoscaler-machineroom"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("reaching the API server: %w", err)
	}
	r.client, r.version = client, version.GitVersion
	return nil
}

func (r *Room) openFolder(*rest.Config) (err error) {
	if r.opts.Dir == "" {
		if r.opts.Dir, err = os.MkdirTemp("", "machineroom-"); err != nil {
			return fmt.Errorf("creating the room's folder: %w", err)
		}
		r.ownDir = true
	}
	if r.opts.Dir, err = filepath.Abs(r.opts.Dir); err != nil {
		return fmt.Errorf("finding the room's folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(r.opts.Dir, "pods"), 0o700); err != nil {
		return fmt.Errorf("creating the room's folder: %w", err)
	}
	r.log, err = openLog(filepath.Join(r.opts.Dir, "power.jsonl"))
	return err
}

// watchPods keeps one watch on the bound pods for all kubelets of the room.
func (r *Room) watchPods(*rest.Config) error {
	bound := fields.OneTermNotEqualSelector("spec.nodeName", "")
	source := cache.NewListWatchFromClient(r.client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, bound)
	r.pods = cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{byNode: nodeOf})
	changed := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			r.poke(pod.Spec.NodeName)
		}
	}
	if _, err := r.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, pod any) { changed(pod) }, DeleteFunc: changed,
	}); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	r.work.Go(func() { r.pods.RunWithContext(r.ctx) })
	if !cache.WaitForCacheSync(r.ctx.Done(), r.pods.HasSynced) {
		return fmt.Errorf("listing pods: %w", context.Cause(r.ctx))
	}
	return nil
}

func nodeOf(object any) ([]string, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("indexing a %T", object)
	}
	return []string{pod.Spec.NodeName}, nil
}

func (r *Room) podsOn(kubeNode string) []*corev1.Pod {
	found, err := r.pods.GetIndexer().ByIndex(byNode, kubeNode)
	if err != nil {
		r.opts.Log.Error("reading the index of pods", "err", err)
	}
	pods := make([]*corev1.Pod, 0, len(found))
	for _, object := range found {
		pods = append(pods, object.(*corev1.Pod))
	}
	return pods
}

func (r *Room) serve(*rest.Config) (err error) {
	if r.switches, err = serveSwitches(r); err != nil {
		return err
	}
	r.endpoint, err = serveKubelets(r)
	return err
}

// AddMachine puts a machine into the room, switched off unless it says otherwise.
func (r *Room) AddMachine(spec Machine) (*Metal, error) {
	spec = spec.withDefaults(r.opts)
	if err := spec.validate(); err != nil {
		return nil, err
	}
	m := &Metal{
		spec: spec, ctx: r.ctx, log: r.log, software: r.software, agent: r.liftTaints,
		commands: commands{prefix: r.opts.PowerCommand, rerun: r.opts.rerun, url: r.PowerURL(spec.Name)},
		state:    Off, temper: spec.Temperament, changed: make(chan struct{}),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machines[spec.Name] != nil {
		return nil, fmt.Errorf("adding machine %s: there is one of that name", spec.Name)
	}
	if err := r.takeName(spec.KubernetesNodeName); err != nil {
		return nil, err
	}
	r.machines[spec.Name] = m
	if spec.On {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.turnOn(sourceRoom)
	}
	return m, nil
}

// takeName reserves a kubeNode's name; r.mu is held.
func (r *Room) takeName(kubeNode string) error {
	if r.nodes[kubeNode] {
		return fmt.Errorf("adding node %s: there is one of that name", kubeNode)
	}
	r.nodes[kubeNode] = true
	return nil
}

// Machine returns the machine of that name, or nil.
func (r *Room) Machine(name string) *Metal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machines[name]
}

// Machines returns all machines by name.
func (r *Room) Machines() []*Metal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Metal, 0, len(r.machines))
	for _, m := range r.machines {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *Metal) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// Stop pulls every plug, ends every process, and returns when nothing of the room runs any more. A room that made its
// own folder removes it. Stopping again waits for the first Stop and returns what it returned.
func (r *Room) Stop() error {
	r.stopOnce.Do(func() { r.stopped = r.stop() })
	return r.stopped
}

func (r *Room) stop() error {
	r.cancel()
	for _, s := range []*server{r.switches, r.endpoint} {
		if s != nil {
			s.close()
		}
	}
	for _, m := range r.Machines() {
		m.work.Wait()
	}
	r.work.Wait()
	if r.log == nil {
		return nil
	}
	errs := []error{r.log.close(), os.RemoveAll(filepath.Join(r.opts.Dir, "pods"))}
	if r.ownDir {
		errs = append(errs, os.RemoveAll(r.opts.Dir))
	}
	return errors.Join(errs...)
}

// PowerURL is where the switch of a machine is.
func (r *Room) PowerURL(machine string) string {
	return r.switches.url + "/machines/" + machine + "/power"
}

// URL is where the room answers: /machines, /machines/<name>, its power and temperament, and /log.
func (r *Room) URL() string { return r.switches.url }
