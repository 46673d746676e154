//go:build !linux

package realclient

import "syscall"

// endWithUs is nothing: only Linux can tie the client's life to the test binary's.
func endWithUs() *syscall.SysProcAttr { return nil }
