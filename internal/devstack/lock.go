package devstack

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// AlreadyRunningError means that another process runs a stack in the directory.
type AlreadyRunningError struct {
	Dir string
	PID int // 0 where it could not be read
}

func (e *AlreadyRunningError) Error() string {
	return fmt.Sprintf("a stack is already running in %s (pid %d); stop it first, or use another directory", e.Dir, e.PID)
}

// openLock opens the file that a lock is taken on. The descriptor is
// close-on-exec, so children cannot keep the lock alive.
func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// tryLock takes an exclusive lock on path and writes this process's id into it.
// ok is false where another process holds it. Closing the file, or the end of
// the process however it comes, frees the lock.
func tryLock(path string) (lock *os.File, ok bool, err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, false, err
	}
	if ok, err := tryExclusive(f); !ok {
		f.Close()
		return nil, false, err
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
		if err != nil {
			f.Close()
			return nil, false, err
		}
	}
	return f, true, nil
}

// lockHolder returns the process id that tryLock wrote to path, or 0.
func lockHolder(path string) int {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(content)))
	return pid
}

func tryExclusive(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func lockExclusive(f *os.File) error { return flock(f, syscall.LOCK_EX) }

func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
