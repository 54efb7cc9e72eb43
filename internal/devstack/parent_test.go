package devstack_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

// parentDir makes this test program, run again, the parent of a stack in that
// directory, for TestKilledParent to kill.
const parentDir = "DEVSTACK_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		if err := beParent(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// family is what the parent tells of itself.
type family struct {
	Endpoints devstack.Endpoints
	PIDs      map[string]int
}

func beParent(dir string) error {
	stack, err := devstack.Start(context.Background(), devstack.Options{Dir: dir})
	if err != nil {
		return err
	}
	err = stack.Run(context.Background(), devstack.Command{Name: "serve", Argv: []string{"sleep", "600"}, Echo: true})
	if err != nil {
		return err
	}
	pids := pidsOf(stack)
	pids["serve"] = stack.PID("serve")
	if err := json.NewEncoder(os.Stdout).Encode(family{stack.Endpoints, pids}); err != nil {
		return err
	}
	return stack.Wait(context.Background())
}

// TestKilledParent kills the process that runs a stack outright. No child may
// outlive it, and the next start continues with everything it had.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends children with their parent")
	}
	dir := stacktest.Dir(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentDir+"="+dir)
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var f family
	if err := json.NewDecoder(bufio.NewReader(output)).Decode(&f); err != nil {
		t.Fatalf("the parent did not start: %v", err)
	}
	keep(t, f.Endpoints)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // "signal: killed"
	for part, pid := range f.PIDs {
		if !gone(pid, 10*time.Second) {
			t.Errorf("%s (pid %d) outlived its parent", part, pid)
		}
	}
	expectKept(t, stacktest.Own(t, devstack.Options{Dir: dir}).Endpoints)
}

// gone waits for a process that is no child of this one. A zombie counts as gone:
// when it is reaped is up to the process that inherited it.
func gone(pid int, within time.Duration) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if !running(pid) || isZombie(pid) {
			return true
		}
	}
	return false
}

func isZombie(pid int) bool {
	output, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && len(output) > 0 && output[0] == 'Z'
}
