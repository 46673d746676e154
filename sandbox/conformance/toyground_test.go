package conformance

import (
	"context"
	"fmt"
	"strings"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// Pool makes a group: the toy is its own Ground.
func (t *toy) Pool(_ context.Context, want Pool) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := &toyGroup{Pool: want, id: fmt.Sprintf("Toys/%d", len(t.groups))}
	for i := range want.Machines {
		g.machines = append(g.machines, &toyMachine{name: fmt.Sprintf("%s/%d", g.id, i)})
	}
	t.groups[g.id] = g
	return g.id, nil
}

// at changes the machine that is listed as an instance.
func (t *toy) at(group, instance string, change func(*toyMachine)) (*pb.ExternalGrpcNode, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.groups[group].machines {
		if m.id() == instance || "toy:"+m.name == instance {
			change(m)
			return &pb.ExternalGrpcNode{Name: m.name, ProviderID: m.id(), Labels: map[string]string{"toy": "true"}}, nil
		}
	}
	return nil, fmt.Errorf("the toy has no machine %s in %s", instance, group)
}

func (t *toy) Hold(_ context.Context, group, instance string) error {
	_, err := t.at(group, instance, func(m *toyMachine) { m.held = true })
	return err
}

func (t *toy) Commit(_ context.Context, group, instance string) error {
	_, err := t.at(group, instance, func(m *toyMachine) { m.state = booting })
	return err
}

func (t *toy) Register(_ context.Context, group, instance string) (*pb.ExternalGrpcNode, error) {
	return t.at(group, instance, func(m *toyMachine) { t.register(group, m) })
}

func (t *toy) register(group string, m *toyMachine) {
	if t.groups[group].OwnIDs {
		m.carries = "own-" + strings.ToLower(m.name)
	}
}

func (t *toy) Ready(_ context.Context, group, instance string) (*pb.ExternalGrpcNode, error) {
	return t.at(group, instance, func(m *toyMachine) {
		t.register(group, m)
		m.state, m.failures = running, 0
	})
}

// Fail leaves a machine told as errored while no other can serve.
func (t *toy) Fail(_ context.Context, group, instance string) error {
	_, err := t.at(group, instance, func(m *toyMachine) {
		m.state = atRest
		m.failures++
		if t.groups[group].count(func(other *toyMachine) bool { return other != m && other.free() }) == 0 {
			m.state = errored
		}
	})
	return err
}

func (t *toy) Off(_ context.Context, group, instance string) error {
	_, err := t.at(group, instance, func(m *toyMachine) {
		if !t.neverOff {
			m.state = atRest
		}
	})
	return err
}
