package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

// startPatience is for a machine that does other things besides.
const startPatience = 2 * time.Minute

// devProcess is a running «marketplace dev».
type devProcess struct {
	cmd    *exec.Cmd
	dir    string
	exited chan struct{}

	mu     sync.Mutex
	output bytes.Buffer
}

func startDev(t *testing.T, dir string, args ...string) *devProcess {
	t.Helper()
	d := &devProcess{dir: dir, exited: make(chan struct{})}
	d.cmd = exec.Command(binary, append([]string{"dev", "--dir", dir, "--port-base", "0"}, args...)...)
	pipe, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.cmd.Stderr = d.cmd.Stdout
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			d.mu.Lock()
			fmt.Fprintln(&d.output, lines.Text())
			d.mu.Unlock()
		}
		_ = d.cmd.Wait()
		close(d.exited)
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		<-d.exited
	})
	eventually(t, startPatience, func() error {
		select {
		case <-d.exited:
			t.Fatalf("dev ended:\n%s", d.said())
		default:
		}
		if !strings.Contains(d.said(), "The marketplace is running") {
			return fmt.Errorf("not running yet:\n%s", d.said())
		}
		return nil
	})
	return d
}

func (d *devProcess) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.output.String()
}

func (d *devProcess) stop(t *testing.T) int {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return d.awaitExit(t)
}

func (d *devProcess) awaitExit(t *testing.T) int {
	t.Helper()
	select {
	case <-d.exited:
	case <-time.After(30 * time.Second):
		t.Fatalf("dev did not end:\n%s", d.said())
	}
	return d.cmd.ProcessState.ExitCode()
}

// The stages share one directory, because what matters is what one start leaves for
// the next.
func TestDev(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(stacktest.Dir(t), "dev")

	first := startDev(t, dir)
	creds := checkCredentialsFile(t, dir)
	var told bytes.Buffer
	if err := newDemo(&told, creds).run(t.Context()); err != nil {
		t.Fatalf("the demo: %v\n%s", err, told.String())
	}
	checkCommands(t, creds)
	checkPayloadsAreSealed(t, creds)
	balance := creditOf(t, creds, "contributor")
	if want := devCredit + demoReward - demoReward/10; balance != want {
		t.Errorf("the contributor has %d cents, want %d", balance, want)
	}
	if second := marketplace(t, nil, "dev", "--dir", dir, "--port-base", "0"); second.code == 0 || !strings.Contains(second.stderr, "already running") {
		t.Errorf("a second stack in the directory: exit %d: %s", second.code, second.stderr)
	}
	if code := first.stop(t); code != 0 {
		t.Errorf("exit %d after SIGTERM:\n%s", code, first.said())
	}
	checkNothingIsLeft(t, dir)

	second := startDev(t, dir)
	if diff := cmp.Diff(creds.Agents, checkCredentialsFile(t, dir).Agents); diff != "" {
		t.Errorf("the second start changed the agents: %s", diff)
	}
	creds = checkCredentialsFile(t, dir)
	if got := creditOf(t, creds, "contributor"); got != balance {
		t.Errorf("the contributor has %d cents after the second start, had %d", got, balance)
	}
	killPart(t, dir, "worker")
	if code := second.awaitExit(t); code == 0 || !strings.Contains(second.said(), "worker ended unexpectedly (signal: killed)") {
		t.Errorf("exit %d after a crash:\n%s", code, second.said())
	}
	checkNothingIsLeft(t, dir)

	third := startDev(t, dir, "--reset")
	creds = checkCredentialsFile(t, dir)
	if got := creditOf(t, creds, "contributor"); got != devCredit {
		t.Errorf("the contributor has %d cents after --reset, want %d", got, devCredit)
	}
	if code := third.stop(t); code != 0 {
		t.Errorf("exit %d after SIGTERM:\n%s", code, third.said())
	}
	checkNothingIsLeft(t, dir)
}

func TestDevNamesABusyPort(t *testing.T) {
	t.Parallel()
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	port := holder.Addr().(*net.TCPAddr).Port
	dir := filepath.Join(stacktest.Dir(t), "dev")
	got := marketplace(t, nil, "dev", "--dir", dir, "--port-base", strconv.Itoa(port))
	if got.code == 0 || !strings.Contains(got.stderr, fmt.Sprintf("port %d (API) is in use", port)) {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	checkNothingIsLeft(t, dir)
}

// checkCredentialsFile reads the file as a program that knows only its documented
// form would.
func checkCredentialsFile(t *testing.T, dir string) credentials {
	t.Helper()
	path := filepath.Join(dir, "credentials.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode().Perm())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(content, &raw); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"base_url", "temporal_ui_url", "temporal_address", "namespace", "database_url", "s3_endpoint"} {
		if text, _ := raw[key].(string); text == "" {
			t.Errorf("%s is %v", key, raw[key])
		}
	}
	agents, _ := raw["agents"].(map[string]any)
	for _, name := range []string{"admin", "reviewer", "support", "creator", "contributor"} {
		agent, _ := agents[name].(map[string]any)
		for _, key := range []string{"user_id", "agent_id", "api_key"} {
			if text, _ := agent[key].(string); text == "" {
				t.Errorf("agents.%s.%s is %v", name, key, agent[key])
			}
		}
	}
	c, err := readCredentials(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func creditOf(t *testing.T, c credentials, agent string) int64 {
	t.Helper()
	as, err := newDemo(nil, c).as(agent)
	if err != nil {
		t.Fatal(err)
	}
	balance, err := answer((*client.GetCreditBalanceResult).GetJSON200)(as.GetCreditBalanceWithResponse(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return balance.AvailableCents
}

// checkCommands runs the operators' commands against the running stack.
func checkCommands(t *testing.T, c credentials) {
	t.Helper()
	env := []string{"MARKETPLACE_DATABASE_URL=" + c.DatabaseURL}
	email := "ops@example.com"
	steps := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"migrate"}, 0, "up to date"},
		{[]string{"admin", "ledger", "verify"}, 0, "transactions sum to zero"},
		{[]string{"admin", "user", "create", "--email", email, "--role", "admin"}, 0, "api_key   cmk_"},
		{[]string{"admin", "user", "create", "--email", strings.ToUpper(email)}, 1, "email_taken"},
		{[]string{"admin", "role", "grant", email, "support"}, 0, "now has the role support"},
		{[]string{"admin", "role", "grant", email, "support"}, 0, "had the role support already"},
		{[]string{"admin", "role", "revoke", email, "support"}, 0, "no longer has the role support"},
		{[]string{"admin", "role", "grant", "nobody@example.com", "support"}, 1, "user_not_found"},
		{[]string{"admin", "credit", "grant", "--agent", c.Agents["creator"].AgentID.String(), "--cents", "1250", "--reason", "a test"}, 0, "Granted 12.50 USD_CREDIT"},
		{[]string{"admin", "credit", "grant", "--agent", c.Agents["creator"].UserID.String(), "--cents", "1250", "--reason", "a test"}, 1, "agent_not_found"},
		{[]string{"admin", "payouts", "list", "--status", "settled"}, 0, "contributor"},
		{[]string{"admin", "flags", "set", "resource_read_surface", "off"}, 0, "resource_read_surface is off"},
		{[]string{"admin", "flags", "list"}, 0, "off"},
		{[]string{"admin", "flags", "set", "resource_read_surface", "on"}, 0, "resource_read_surface is on"},
		{[]string{"admin", "flags", "set", "no_such_flag", "on"}, 1, "feature_flag_not_found"},
	}
	for _, step := range steps {
		got := marketplace(t, env, step.args...)
		if got.code != step.code || !strings.Contains(got.stdout+got.stderr, step.want) {
			t.Errorf("%v: exit %d, want %d and %q in:\n%s%s", step.args, got.code, step.code, step.want, got.stdout, got.stderr)
		}
	}
}

// checkNothingIsLeft looks for processes that know of the directory.
func checkNothingIsLeft(t *testing.T, dir string) {
	t.Helper()
	eventually(t, 5*time.Second, func() error {
		if left := processesOf(t, dir, ""); len(left) > 0 {
			return fmt.Errorf("still running: %v", left)
		}
		return nil
	})
}

func killPart(t *testing.T, dir, argument string) {
	t.Helper()
	found := processesOf(t, dir, argument)
	if len(found) != 1 {
		t.Fatalf("processes that run %q in %s: %v", argument, dir, found)
	}
	for pid := range found {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

// processesOf finds the processes with the directory in their arguments or
// environment and, if given, the last argument.
func processesOf(t *testing.T, dir, lastArgument string) map[int]string {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are looked for in /proc")
	}
	entries, err := fs.Glob(os.DirFS("/proc"), "[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, entry := range entries {
		process := "/proc/" + filepath.Dir(entry)
		arguments, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(process, "environ"))
		words := strings.FieldsFunc(string(arguments), func(r rune) bool { return r == 0 })
		pid, _ := strconv.Atoi(filepath.Base(process))
		switch {
		case len(words) == 0, pid == os.Getpid(), !bytes.Contains(append(arguments, environ...), []byte(dir)):
		case lastArgument != "" && words[len(words)-1] != lastArgument:
		default:
			found[pid] = strings.Join(words, " ")
		}
	}
	return found
}

// checkPayloadsAreSealed looks at what the Temporal UI is told without the codec: memos
// are sealed, search attributes readable.
func checkPayloadsAreSealed(t *testing.T, c credentials) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, c.TemporalUIURL+"/api/v1/namespaces/default/workflows", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var list struct {
		Executions []struct {
			Execution struct{ WorkflowID string }
			Memo      struct {
				Fields map[string]struct{ Metadata map[string]string }
			}
			SearchAttributes struct {
				IndexedFields map[string]struct{ Data []byte }
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if len(list.Executions) == 0 {
		t.Fatalf("the Temporal UI lists no workflow: %s", answer.Status)
	}
	for _, run := range list.Executions {
		for name, field := range run.Memo.Fields {
			if field.Metadata["encoding"] != "YmluYXJ5L2VuY3J5cHRlZA==" { // binary/encrypted
				t.Errorf("memo %s of %s is not sealed: %v", name, run.Execution.WorkflowID, field.Metadata)
			}
		}
		ends := []string{`"paid"`, `"settled"`, `"approved"`, `"rejected"`}
		if got := string(run.SearchAttributes.IndexedFields["MarketplaceStatus"].Data); !slices.Contains(ends, got) {
			t.Errorf("%s is %s in the list of the Temporal UI", run.Execution.WorkflowID, got)
		}
	}
}
