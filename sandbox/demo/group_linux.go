package demo

import "syscall"

// ownGroup makes the process lead a group of its own, and end when the sandbox is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
