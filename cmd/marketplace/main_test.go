package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/seal"
)

// binary is the real thing, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "marketplace-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "marketplace")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// outcome is what a command that ended leaves behind.
type outcome struct {
	stdout, stderr string
	code           int
}

// marketplace runs the binary to its end, with nothing in its environment but env.
func marketplace(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("marketplace %s: %v", strings.Join(args, " "), err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// eventually waits until check finds nothing wrong, and fails the test with what it
// last found when that takes too long.
func eventually(t *testing.T, patience time.Duration, check func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %s: %v", patience, err)
		case <-t.Context().Done():
			t.Fatalf("the test ended: %v", err)
		}
	}
}

func TestCommandLineErrorsAreOneHelpfulLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env  []string
		args []string
		want string
	}{
		"unknown command":         {nil, []string{"fly"}, `unknown command "fly" for "marketplace"`},
		"settings are missing":    {nil, []string{"migrate"}, "MARKETPLACE_DATABASE_URL is not set"},
		"bad database URL":        {[]string{"MARKETPLACE_DATABASE_URL=nonsense"}, []string{"admin", "flags", "list"}, "database URL"},
		"unknown role":            {[]string{"MARKETPLACE_DATABASE_URL=postgres://x"}, []string{"admin", "role", "grant", "a@b.c", "king"}, `there is no role "king"; the roles are admin, reviewer, support`},
		"unknown payout status":   {[]string{"MARKETPLACE_DATABASE_URL=postgres://x"}, []string{"admin", "payouts", "list", "--status", "lost"}, `no payout is ever "lost"`},
		"not an id":               {nil, []string{"admin", "payouts", "retry", "7"}, `"7" is not the id of a payout`},
		"keyset to change absent": {nil, []string{"admin", "keyset", "promote"}, "MARKETPLACE_SEAL_KEYSET: keyset is empty"},
		"keyset not shown":        {[]string{"MARKETPLACE_SEAL_KEYSET=s3cret"}, []string{"admin", "keyset", "add-key"}, "MARKETPLACE_SEAL_KEYSET: keyset is not base64"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := marketplace(t, tt.env, tt.args...)
			if got.code != 1 || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "\n") > 3 {
				t.Errorf("exit %d, want 1 and %q in:\n%s", got.code, tt.want, got.stderr)
			}
			if strings.Contains(got.stderr, "s3cret") {
				t.Errorf("a secret in %s", got.stderr)
			}
		})
	}
}

func TestKeysetCommandsRotate(t *testing.T) {
	t.Parallel()
	fresh := strings.TrimSpace(marketplace(t, nil, "admin", "keyset", "new").stdout)
	path := filepath.Join(t.TempDir(), "keyset")
	if err := os.WriteFile(path, []byte(fresh+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	added := strings.TrimSpace(marketplace(t, []string{keysetVariable + "_FILE=" + path}, "admin", "keyset", "add-key").stdout)
	promoted := strings.TrimSpace(marketplace(t, []string{keysetVariable + "=" + added}, "admin", "keyset", "promote").stdout)
	for _, keyset := range []string{fresh, added, promoted} {
		if _, err := seal.New(keyset); err != nil {
			t.Error(err)
		}
	}
	if fresh == added || added == promoted {
		t.Error("a step of the rotation changed nothing")
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want string
	}{
		"domain":  {fmt.Errorf("retry: %w", market.NotFound("payout")), "There is no such payout, or you may not see it. (payout_not_found)"},
		"invalid": {market.Invalid("uuid_parsing", "not a uuid", "path", "payout_id"), "payout_id: not a uuid"},
		"other":   {fmt.Errorf("dial %s", uuid.Nil), "dial 00000000-0000-0000-0000-000000000000"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := explain(tt.err); got != tt.want {
				t.Errorf("explain = %q, want %q", got, tt.want)
			}
		})
	}
}
