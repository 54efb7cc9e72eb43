package devstack_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

// TestSharedLifetime follows the shared stack from its first user to its last.
func TestSharedLifetime(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	first := join(ctx, t, dir)
	second := join(ctx, t, dir)
	if first.Endpoints != second.Endpoints {
		t.Errorf("two users, two stacks:\n%+v\n%+v", first.Endpoints, second.Endpoints)
	}
	keeper := keeperOf(t, dir)
	leave(t, first)
	var one int
	query(t, second.AdminDatabaseURL, `SELECT 1`, &one)
	leave(t, second)
	if !gone(keeper, 5*time.Second) {
		t.Errorf("the keeper (pid %d) runs after its last user has left", keeper)
	}

	third := join(ctx, t, dir)
	query(t, third.AdminDatabaseURL, `SELECT 1`, &one)
	if err := killKeeper(t, dir); err != nil {
		t.Fatal(err)
	}
	fourth := join(ctx, t, dir) // after a keeper that was killed
	query(t, fourth.AdminDatabaseURL, `SELECT 1`, &one)

	if err := syscall.Kill(keeperOf(t, dir), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitWithdrawal(t, dir)
	fifth := join(ctx, t, dir) // while a keeper is stopping
	query(t, fifth.AdminDatabaseURL, `SELECT 1`, &one)
	leave(t, third)
	leave(t, fourth)
	leave(t, fifth)
}

// awaitWithdrawal waits until a keeper that was told to stop no longer publishes
// its stack.
func awaitWithdrawal(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "endpoints.json")); err != nil {
			return
		}
	}
	t.Fatal("the keeper does not stop")
}

// TestKeeperEndsWhenIdle runs a keeper that nobody ever uses.
func TestKeeperEndsWhenIdle(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	if err := devstack.KeepShared(t.Context(), dir, time.Millisecond, t.Output()); err != nil {
		t.Errorf("the keeper ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "endpoints.json")); err == nil {
		t.Error("the endpoints of a stopped stack are still published")
	}
}

func join(ctx context.Context, t *testing.T, dir string) *devstack.Shared {
	t.Helper()
	shared, err := devstack.JoinShared(ctx, dir, t.Output())
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	return shared
}

func leave(t *testing.T, shared *devstack.Shared) {
	t.Helper()
	if err := shared.Leave(); err != nil {
		t.Errorf("leave: %v", err)
	}
}

func keeperOf(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func killKeeper(t *testing.T, dir string) error {
	t.Helper()
	keeper, err := os.FindProcess(keeperOf(t, dir))
	if err != nil {
		return err
	}
	if err := keeper.Kill(); err != nil {
		return err
	}
	// Its lock is free once its last thread is gone.
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
}
