// Command teststack serves the stack that the tests share.
//
//	teststack keep DIR              runs it until nobody has used it for a while
//	teststack run COMMAND [ARG…]    holds it while the command runs
//
// `make test` runs `go test` under the second form, so that the stack stays up
// from the first package to the last and is gone afterwards. A `go test` without
// it starts a keeper by itself, which ends soon after the tests have.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/course-marketplace/backend/internal/devstack"
)

// idle is long enough for a developer who runs one test after the other, and
// short enough to leave nothing behind.
const idle = 20 * time.Second

func main() {
	err := run(os.Args[1:])
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		os.Exit(max(1, exit.ExitCode()))
	default:
		fmt.Fprintln(os.Stderr, "teststack:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	switch {
	case len(args) == 2 && args[0] == "keep":
		return devstack.KeepShared(ctx, args[1], idle, os.Stdout)
	case len(args) >= 2 && args[0] == "run":
		return hold(ctx, args[1:])
	}
	return errors.New("usage: teststack keep DIR | teststack run COMMAND [ARG…]")
}

// hold runs the command with the shared stack up, and stops the stack afterwards
// unless others use it too.
func hold(ctx context.Context, argv []string) error {
	dir, err := devstack.SharedDir()
	if err != nil {
		return err
	}
	shared, err := devstack.JoinShared(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	return errors.Join(err, shared.Leave())
}
