package devstack_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

var parts = []string{devstack.PartPostgres, devstack.PartTemporal, devstack.PartS3}

// TestSecondStartContinues keeps something in each part, stops the stack and finds
// it again, on the same ports, after the next start.
func TestSecondStartContinues(t *testing.T) {
	t.Parallel()
	options := devstack.Options{Dir: stacktest.Dir(t), Volatile: true}
	first := stacktest.Own(t, options)
	keep(t, first.Endpoints)
	pids := pidsOf(first)
	first.Stop()
	for part, pid := range pids {
		if running(pid) {
			t.Errorf("%s (pid %d) still runs after Stop", part, pid)
		}
	}

	second := stacktest.Own(t, options)
	if first.Endpoints != second.Endpoints {
		t.Errorf("endpoints changed:\n first %+v\nsecond %+v", first.Endpoints, second.Endpoints)
	}
	expectKept(t, second.Endpoints)
}

// TestKillAndRestart ends each part without warning, as the fault tests do, and
// finds everything again after its restart.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, devstack.Options{})
	keep(t, stack.Endpoints)
	for _, part := range parts {
		before := stack.PID(part)
		if err := stack.Kill(part); err != nil {
			t.Fatalf("kill %s: %v", part, err)
		}
		if running(before) {
			t.Errorf("%s (pid %d) runs after Kill", part, before)
		}
		if err := stack.Restart(t.Context(), part); err != nil {
			t.Fatalf("restart %s: %v", part, err)
		}
	}
	expectKept(t, stack.Endpoints)
	if err := stack.Err(); err != nil {
		t.Errorf("a wanted end counts as a crash: %v", err)
	}
	if err := stack.Kill("nonsense"); err == nil {
		t.Error("a part that does not exist was killed")
	}
}

// TestCrashIsReported has a part of the product write to its log and fail.
func TestCrashIsReported(t *testing.T) {
	t.Parallel()
	var echoed syncBuffer
	stack := stacktest.Own(t, devstack.Options{Volatile: true, Output: &echoed})
	pids := pidsOf(stack)
	go func() {
		err := stack.Run(context.Background(), devstack.Command{
			Name: "serve", Argv: []string{"sh", "-c", "echo out of courage; exec sleep 0.2; exit 3"}, Echo: true,
		})
		if err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	err := stack.Wait(t.Context())
	var crash *devstack.CrashError
	if !errors.As(err, &crash) || crash.Part != "serve" || !strings.Contains(crash.LastLog, "out of courage") {
		t.Errorf("Wait returned %v; want the crash of serve with its log", err)
	}
	if !strings.Contains(echoed.String(), "serve        out of courage\n") {
		t.Errorf("the output was not echoed with its origin:\n%s", echoed.String())
	}
	for part, pid := range pids {
		if running(pid) {
			t.Errorf("%s (pid %d) still runs after the crash of another part", part, pid)
		}
	}
}

func TestCrashWhileStarting(t *testing.T) {
	t.Parallel()
	stack := stacktest.Own(t, devstack.Options{Volatile: true})
	err := stack.Run(t.Context(), devstack.Command{
		Name: "serve", Argv: []string{"sh", "-c", "echo no such table >&2; exit 1"},
		Ready: devstack.HTTPReady("http://127.0.0.1:1/readyz"),
	})
	var crash *devstack.CrashError
	if !errors.As(err, &crash) || !strings.Contains(crash.LastLog, "no such table") {
		t.Errorf("Run returned %v; want the crash with its log", err)
	}
	err = stack.RunOnce(t.Context(), devstack.Command{Name: "migrate", Argv: []string{"sh", "-c", "echo bad migration; exit 1"}})
	if !errors.As(err, &crash) || !strings.Contains(crash.LastLog, "bad migration") {
		t.Errorf("RunOnce returned %v; want the failure with its log", err)
	}
	if err := stack.RunOnce(t.Context(), devstack.Command{Name: "migrate", Argv: []string{"true"}}); err != nil {
		t.Errorf("RunOnce of a command that succeeds: %v", err)
	}
}

// TestOneStackPerDirectory tries a second stack in the directory of a running one.
func TestOneStackPerDirectory(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	stacktest.Own(t, devstack.Options{Dir: dir, Volatile: true})
	_, err := devstack.Start(t.Context(), devstack.Options{Dir: dir})
	var running *devstack.AlreadyRunningError
	if !errors.As(err, &running) || running.PID != os.Getpid() || running.Dir != dir {
		t.Errorf("Start returned %v; want that it already runs here", err)
	}
}

func TestBusyPort(t *testing.T) {
	t.Parallel()
	const base = 18600
	listener, err := net.Listen("tcp", "127.0.0.1:18602")
	if err != nil {
		t.Skipf("the port of this test is taken: %v", err)
	}
	defer listener.Close()
	dir := stacktest.Dir(t)
	_, err = devstack.Start(t.Context(), devstack.Options{Dir: dir, PortBase: base, Reset: true})
	var busy *devstack.PortBusyError
	if !errors.As(err, &busy) {
		t.Fatalf("Start returned %v; want a busy port", err)
	}
	if busy.Port != 18602 || busy.Part != "Temporal gRPC" {
		t.Errorf("the error names port %d of %s", busy.Port, busy.Part)
	}
	if !strings.Contains(err.Error(), "--port-base") {
		t.Errorf("the error does not say how to move the ports: %v", err)
	}
	if _, statErr := os.Stat("/proc/net/tcp"); statErr == nil && !strings.Contains(busy.Holder, "pid") {
		t.Errorf("the error does not name this process: %v", err)
	}
	if entries, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(entries) > 0 {
		t.Errorf("something was started all the same: %v", entries)
	}
}

// TestClosedDirectory starts a stack in a folder that no other user may enter. For
// root that moves the database to where its unprivileged user gets to.
func TestClosedDirectory(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	var output syncBuffer
	dir := filepath.Join(closed, ".dev")
	stack := stacktest.Own(t, devstack.Options{Dir: dir, Volatile: true, Output: &output})
	keep(t, stack.Endpoints)
	expectKept(t, stack.Endpoints)
	if os.Geteuid() == 0 && !strings.Contains(output.String(), "can't reach "+dir) {
		t.Errorf("the move of the database was not announced:\n%s", output.String())
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	dir := stacktest.Dir(t)
	first := stacktest.Own(t, devstack.Options{Dir: dir, Volatile: true})
	keep(t, first.Endpoints)
	first.Stop()
	second := stacktest.Own(t, devstack.Options{Dir: dir, Volatile: true, Reset: true})
	var exists bool
	query(t, second.DatabaseURL, `SELECT to_regclass('kept') IS NOT NULL`, &exists)
	if exists {
		t.Error("the table outlived --reset")
	}
	if second.DatabaseURL == first.DatabaseURL {
		t.Error("the password outlived --reset")
	}
}

// TestAbandonedStacks leaves one stack behind and keeps another running.
func TestAbandonedStacks(t *testing.T) {
	t.Parallel()
	parent := stacktest.Dir(t)
	left, used := filepath.Join(parent, "left"), filepath.Join(parent, "used")
	stacktest.Own(t, devstack.Options{Dir: left, Volatile: true}).Stop()
	stacktest.Own(t, devstack.Options{Dir: used, Volatile: true})
	for _, age := range []time.Duration{time.Hour, 0} {
		if err := devstack.RemoveAbandoned(parent, age); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); (err == nil) != (age > 0) {
			t.Errorf("with age %s the abandoned stack: %v", age, err)
		}
		if _, err := os.Stat(filepath.Join(used, "s3")); err != nil {
			t.Errorf("with age %s the running stack: %v", age, err)
		}
	}
}

// TestShared has this process use the stack that all test processes share.
func TestShared(t *testing.T) {
	t.Parallel()
	shared := stacktest.Shared(t)
	var answer int
	query(t, shared.AdminDatabaseURL, `SELECT 1`, &answer)
	store := stacktest.Bucket(t, shared.S3)
	put(t, store)
	if again := stacktest.Shared(t); again != shared {
		t.Errorf("a second call returned another stack: %+v", again)
	}
}

func keep(t *testing.T, e devstack.Endpoints) {
	t.Helper()
	var created bool
	query(t, e.DatabaseURL, `CREATE TABLE kept AS SELECT 1 AS n; SELECT true`, &created)
	put(t, e.S3)
	temporal := dialTemporal(t, e)
	defer temporal.Close()
	_, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody"}, "Kept")
	if err != nil {
		t.Fatalf("start a workflow: %v", err)
	}
}

func expectKept(t *testing.T, e devstack.Endpoints) {
	t.Helper()
	var n int
	query(t, e.DatabaseURL, `SELECT n FROM kept`, &n)
	object, err := e.S3.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(e.S3.Bucket), Key: aws.String("a/b.txt")})
	if err != nil {
		t.Fatalf("get the object: %v", err)
	}
	defer object.Body.Close()
	if content, err := io.ReadAll(object.Body); err != nil || string(content) != "kept" || object.Metadata["origin"] != "test" {
		t.Errorf("the object is %q with metadata %v, %v", content, object.Metadata, err)
	}
	temporal := dialTemporal(t, e)
	defer temporal.Close()
	if _, err := temporal.DescribeWorkflowExecution(t.Context(), "kept", ""); err != nil {
		t.Errorf("describe the workflow: %v", err)
	}
}

func dialTemporal(t *testing.T, e devstack.Endpoints) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: e.TemporalAddress, Namespace: e.Namespace})
	if err != nil {
		t.Fatalf("dial Temporal: %v", err)
	}
	return c
}

func put(t *testing.T, store devstack.S3) {
	t.Helper()
	_, err := store.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(store.Bucket), Key: aws.String("a/b.txt"), Body: strings.NewReader("kept"),
		Metadata: map[string]string{"origin": "test"},
	})
	if err != nil {
		t.Fatalf("put an object: %v", err)
	}
}

func query(t *testing.T, url, sql string, into any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect to Postgres: %v", err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	statements := strings.Split(sql, ";")
	for _, statement := range statements[:len(statements)-1] {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := conn.QueryRow(t.Context(), statements[len(statements)-1]).Scan(into); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func pidsOf(stack *devstack.Stack) map[string]int {
	pids := map[string]int{}
	for _, part := range parts {
		pids[part] = stack.PID(part)
	}
	return pids
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
