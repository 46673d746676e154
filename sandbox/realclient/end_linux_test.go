package realclient

import "syscall"

// endWithUs makes the client end when the test binary is killed.
func endWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
