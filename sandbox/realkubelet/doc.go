// Package realkubelet has the power Jobs of a real manager run as real containers: a kubelet, containerd and runc start the
// pods that the operator derives from a slot, and the image of the program power in them works a simulated machine's switch.
// Everywhere else in the sandbox a pod is a process, if that.
//
// It is tests alone, and optional: make test-kubelet runs them, as root, and installs what Debian has. The kubelet is built, in
// minutes where the control plane is compiled already.
package realkubelet
