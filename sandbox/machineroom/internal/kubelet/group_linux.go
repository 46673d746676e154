package kubelet

import "syscall"

// ownGroup makes the process lead a group of its own and die when the sandbox is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
