package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func isBusy(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// portHolder says which process listens on the port, as far as /proc tells: the
// processes of other users stay unknown to anyone but root.
func portHolder(port int) string {
	const unknown = "another process"
	inode := listenerInode(port)
	if inode == "" {
		return unknown
	}
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range descriptors {
		if target, err := os.Readlink(fd); err == nil && target == "socket:["+inode+"]" {
			pid := strings.Split(fd, "/")[2]
			return fmt.Sprintf("%s (pid %s)", processName(pid), pid)
		}
	}
	return unknown
}

func processName(pid string) string {
	name, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil {
		return "a process"
	}
	return strings.TrimSpace(string(name))
}

// listenerInode finds the listening socket of a port in the kernel's tables,
// whose format proc(5) describes: the second field is address:port in hex, the
// fourth the state (0A is LISTEN), the tenth the inode.
func listenerInode(port int) string {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && strings.HasSuffix(fields[1], suffix) {
				return fields[9]
			}
		}
	}
	return ""
}
