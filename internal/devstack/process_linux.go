package devstack

import "syscall"

// endWithParent has the kernel send the signal to the child when the thread that
// started it ends, which is when this process ends (see startLasting). The
// runtime asks for it after the change of user, which would clear it.
func endWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) {
	attr.Pdeathsig = signal
}
