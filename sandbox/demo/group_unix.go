//go:build unix && !linux

package demo

import "syscall"

// ownGroup makes the process lead a group of its own. Only Linux can also tie its life to the sandbox's.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
