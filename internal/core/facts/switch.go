package facts

import (
	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// CanSwitch is whether a power switch alone can carry out an operation; nil can do nothing.
func CanSwitch(p *v2.PowerSwitch, op v2.Operation) bool {
	switch {
	case p == nil:
		return false
	case p.IPMI != nil || p.Redfish != nil:
		return true
	case op == v2.OperationStartup:
		return p.WakeOnLAN != nil || p.HTTP != nil && p.HTTP.PowerOn != nil
	}
	return p.SSH != nil || p.HTTP != nil && (p.HTTP.SoftOff != nil || p.HTTP.PowerOff != nil)
}

// ReadableSwitch is whether a power switch can tell that its machine is on, and that it is off. A magic packet has no
// answer, and an ssh server that does not answer proves nothing.
func ReadableSwitch(p *v2.PowerSwitch) bool {
	return p != nil && (p.IPMI != nil || p.Redfish != nil || p.HTTP != nil && p.HTTP.Status != nil)
}
