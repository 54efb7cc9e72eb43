package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// tool is a program that a part of the stack runs.
type tool struct {
	name     string
	estimate string // how long the first build takes
}

// findTool returns the path of a tool: the one on PATH, else the one built from
// the checkout.
func findTool(ctx context.Context, t tool, p *progress) (string, error) {
	if path, err := exec.LookPath(t.name); err == nil {
		return path, nil
	}
	root, err := SourceDir()
	if err != nil {
		return "", fmt.Errorf("%s is not on PATH and can't be built: %w", t.name, err)
	}
	return builtTool(ctx, root, t, p)
}

// builtTool returns .dev/bin/<name> of the checkout. It is built from
// tools/<name>/go.mod where it is missing or older than that file. Processes that
// want the same tool at the same time wait for one build.
func builtTool(ctx context.Context, root string, t tool, p *progress) (string, error) {
	source := filepath.Join(root, "tools", t.name)
	binary := filepath.Join(root, ".dev", "bin", t.name)
	if isBuilt(binary, source) {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", err
	}
	end := p.step(t.name, fmt.Sprintf("building (first time only, %s)", t.estimate))
	lock, err := awaitLock(ctx, binary+".lock")
	if err != nil {
		end("")
		return "", err
	}
	defer lock.Close()
	if isBuilt(binary, source) { // by the process that held the lock
		end("")
		return binary, nil
	}
	if err := build(ctx, source, binary); err != nil {
		end("")
		return "", fmt.Errorf("build %s from %s (the first build needs the network for its modules): %w", t.name, source, err)
	}
	end("built")
	return binary, nil
}

// isBuilt reports whether binary is newer than the files that pin its version.
func isBuilt(binary, source string) bool {
	built, err := os.Stat(binary)
	if err != nil {
		return false
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		pinned, err := os.Stat(filepath.Join(source, name))
		if err != nil || pinned.ModTime().After(built.ModTime()) {
			return false
		}
	}
	return true
}

// build compiles the one tool that the module in source declares. No C compiler
// is needed. The binary appears under its name only when it is whole.
func build(ctx context.Context, source, binary string) error {
	unfinished := fmt.Sprintf("%s.%d", binary, os.Getpid())
	defer os.Remove(unfinished)
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", unfinished, "tool")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	// A group of its own, so that the compilers go with it when ctx ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := runToEnd(cmd); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return os.Rename(unfinished, binary)
}

// awaitLock takes an exclusive lock on path, however long another process holds
// it, unless ctx ends first.
func awaitLock(ctx context.Context, path string) (*os.File, error) {
	lock, err := openLock(path)
	if err != nil {
		return nil, err
	}
	err = poll(ctx, func(context.Context) error {
		switch ok, err := tryExclusive(lock); {
		case err != nil:
			return &permanentError{err}
		case !ok:
			return fmt.Errorf("%s is locked by another process", path)
		}
		return nil
	})
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}
