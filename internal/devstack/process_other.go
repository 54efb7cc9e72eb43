//go:build !linux

package devstack

import "syscall"

// endWithParent does nothing: only Linux can tie a child to its parent's life. A
// parent that is killed outright leaves its children here; the next start names
// them as the holders of the ports.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}
