package controlplane

import "context"

// PIDs are the components' processes.
func (cp *ControlPlane) PIDs() []int {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	var pids []int
	for _, c := range cp.components {
		pids = append(pids, c.process.Pid)
	}
	return pids
}

// Kill ends one component as a crash would.
func (cp *ControlPlane) Kill(name string) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	for _, c := range cp.components {
		if c.name == name {
			_ = c.process.Kill()
		}
	}
}

// ResetTo is ResetAfter without a test's end.
func (cp *ControlPlane) Resetter(ctx context.Context) (func(context.Context) error, error) {
	before, err := cp.clusterScoped(ctx)
	return func(ctx context.Context) error { return cp.resetTo(ctx, before) }, err
}
