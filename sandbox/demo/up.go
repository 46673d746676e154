package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// UpOptions say where a sandbox lives. The zero value lives in a temporary folder, and says nothing.
type UpOptions struct {
	// Dir is the folder for everything of the sandbox; it must be empty or not exist, and is removed in the end.
	Dir string
	// Switches are what the machines of a pool have, dealt out in turn. Default: IPMI for all.
	Switches []bmc.Wiring
	// slot makes a machine's slot and its Secret where a test has a switch of another make for it. Nil: by Switches.
	slot func(*machineroom.Metal, *machineroom.Room) (*v2.Node, *corev1.Secret, error)
	// PowerCommand is the command line of the power client; see machineroom.Options.
	PowerCommand []string
	// Progress takes a line for each thing that takes time. Nil: nothing is said.
	Progress io.Writer
}

// Sandbox is a running cluster: control plane, machine room, manager, power observer.
type Sandbox struct {
	// Dir is the folder that holds everything; Logs, inside it, what every part wrote.
	Dir, Logs string
	// Kubeconfig is for kubectl and other programs; Config and Client are for this one.
	Kubeconfig string
	Config     *rest.Config
	Client     client.Client
	// Provider is the address of the manager's gRPC server.
	Provider string
	Room     *machineroom.Room

	panels []*bmc.Panel
	// byHand is a command line that works the first machine's switch.
	byHand       string
	plane        *controlplane.ControlPlane
	certificates *certificates
	// secrets are the names of those that open the machines' switches.
	secrets           []string
	manager, observer *process
	log               *os.File
}

// Up builds what has to be built and starts a sandbox. The context bounds the start only; Down ends what Up returned.
func Up(ctx context.Context, o UpOptions) (*Sandbox, error) {
	s := &Sandbox{}
	if err := guarded(func() error { return s.start(ctx, o) }); err != nil {
		return nil, s.Down(fmt.Errorf("starting the sandbox: %w", err))
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context, o UpOptions) error {
	built, err := build(ctx, o.Progress)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(built) }()
	if s.plane, err = controlplane.Start(ctx, controlplane.Options{Dir: o.Dir, Progress: o.Progress}); err != nil {
		return err
	}
	s.Dir, s.Logs, s.Kubeconfig, s.Config = s.plane.Dir, s.plane.Logs, s.plane.Kubeconfig(), s.plane.Config()
	if err := s.openLog(); err != nil {
		return err
	}
	if s.Client, err = client.New(s.Config, client.Options{Scheme: newScheme()}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := s.plane.InstallCRDs(ctx); err != nil {
		return err
	}
	if err := s.plane.InstallPolicies(ctx); err != nil {
		return err
	}
	if err := s.createNamespace(ctx); err != nil {
		return err
	}
	if err := s.furnish(ctx, o); err != nil {
		return err
	}
	if err := s.startManager(ctx, built, o.Progress); err != nil {
		return err
	}
	return s.startObserver(ctx, built)
}

// openLog sends what the libraries in this process have to say to a file: the terminal belongs to the story.
func (s *Sandbox) openLog() error {
	var err error
	if s.log, err = os.Create(filepath.Join(s.Logs, "sandbox.log")); err != nil {
		return fmt.Errorf("opening the sandbox's log: %w", err)
	}
	handler := slog.NewTextHandler(s.log, nil)
	klog.SetSlogLogger(slog.New(handler))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	return nil
}

// furnish fills the machine room: an always-on node that runs the lifecycle Jobs, and per pool its machines, its group
// and a slot for each machine.
func (s *Sandbox) furnish(ctx context.Context, o UpOptions) error {
	var err error
	// The room's own context: it must outlive the start, and Down ends it.
	s.Room, err = machineroom.New(context.WithoutCancel(ctx), s.Config, machineroom.Options{
		Dir: filepath.Join(s.Dir, "room"), PowerCommand: o.PowerCommand, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	if err != nil {
		return fmt.Errorf("opening the machine room: %w", err)
	}
	const alwaysOn = "always-on"
	if err := s.Room.AddAlwaysOn(alwaysOn, machineroom.ControlPlane); err != nil {
		return err
	}
	for _, pool := range Pools() {
		if err := s.addPool(ctx, pool, o); err != nil {
			return err
		}
	}
	if _, err := s.Room.WaitFor(ctx, machineroom.Of(alwaysOn), machineroom.Is(machineroom.Ready)); err != nil {
		return fmt.Errorf("waiting for the always-on node: %w", err)
	}
	return nil
}

func (s *Sandbox) addPool(ctx context.Context, pool Pool, o UpOptions) error {
	if len(o.Switches) == 0 {
		o.Switches = []bmc.Wiring{bmc.ByIPMI}
	}
	if err := s.Client.Create(ctx, pool.group()); err != nil {
		return fmt.Errorf("creating group %s: %w", pool.Name, err)
	}
	for i, name := range pool.machines() {
		metal, err := s.Room.AddMachine(machineroom.Machine{Name: name, Capacity: pool.Capacity})
		if err != nil {
			return err
		}
		makes := o.slot
		if makes == nil {
			makes = s.wired(ctx, pool, o.Switches[i%len(o.Switches)])
		}
		slot, secret, err := makes(metal, s.Room)
		if err != nil {
			return err
		}
		slot.Namespace, secret.Namespace, slot.Labels = Namespace, Namespace, map[string]string{v2.LabelGroup: pool.Name}
		slot.Spec.Pricing = &v2.Pricing{HourlyRate: pool.HourlyRate, PodRate: "0.001"}
		s.secrets = append(s.secrets, secret.Name)
		for _, object := range []client.Object{secret, slot} {
			if err := s.Client.Create(ctx, object); err != nil {
				return fmt.Errorf("creating %s: %w", object.GetName(), err)
			}
		}
	}
	return nil
}

// wired gives a machine its switch, the slot that declares it, and the Secret with which the slot's Jobs work it.
func (s *Sandbox) wired(ctx context.Context, pool Pool, wiring bmc.Wiring) func(*machineroom.Metal, *machineroom.Room) (*v2.Node, *corev1.Secret, error) {
	return func(metal *machineroom.Metal, _ *machineroom.Room) (*v2.Node, *corev1.Secret, error) {
		panel, err := bmc.Wire(ctx, metal, bmc.Options{Dir: filepath.Join(s.Dir, "switches"), Protocols: wiring.Protocols()})
		if err != nil {
			return nil, nil, err
		}
		s.panels = append(s.panels, panel)
		s.byHand = cmp.Or(s.byHand, panel.ByHand(wiring))
		return panel.Declare(wiring, Namespace, pool.Name)
	}
}

// machines are the names of all machines, which are those of their kubeNodes too.
func (s *Sandbox) machines() []string {
	var names []string
	for _, metal := range s.Room.Machines() {
		names = append(names, metal.KubeNode())
	}
	return names
}

// createNamespace makes the namespace that the manager serves.
func (s *Sandbox) createNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := s.Client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating namespace %s: %w", Namespace, err)
	}
	return nil
}

// Down stops everything that was started and removes the folder. If the sandbox ended with a fault, the logs are
// copied out first, and the error says where they are; a person who interrupted wants none.
func (s *Sandbox) Down(fault error) error {
	var errs []error
	if fault != nil && s.Client != nil && !errors.Is(fault, context.Canceled) {
		s.dumpState()
	}
	for _, p := range []*process{s.observer, s.manager} {
		if p != nil {
			p.stop()
		}
	}
	for _, panel := range s.panels {
		panel.Close()
	}
	if s.Room != nil {
		errs = append(errs, s.Room.Stop())
	}
	if fault != nil && s.plane != nil && !errors.Is(fault, context.Canceled) {
		kept, err := s.keepLogs()
		fault = fmt.Errorf("%w\nThe logs are in %s", fault, kept)
		errs = append(errs, err)
	}
	if s.plane != nil {
		errs = append(errs, s.plane.Stop())
	}
	if s.log != nil {
		klog.SetSlogLogger(slog.New(slog.DiscardHandler))
		errs = append(errs, s.log.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(fault, fmt.Errorf("stopping the sandbox: %w", err))
	}
	return fault
}

// keepLogs copies the logs to a folder that outlives the sandbox.
func (s *Sandbox) keepLogs() (string, error) {
	kept, err := os.MkdirTemp("", "homelab-sandbox-logs-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the logs: %w", err)
	}
	if err := os.CopyFS(kept, os.DirFS(s.Logs)); err != nil {
		return kept, fmt.Errorf("copying the logs: %w", err)
	}
	power, err := os.ReadFile(filepath.Join(s.Dir, "room", "power.jsonl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(kept, "power.jsonl"), power, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return kept, fmt.Errorf("copying the power log: %w", err)
	}
	return kept, nil
}

// dumpPatience bounds the last look at a cluster that may be broken.
const dumpPatience = 5 * time.Second
