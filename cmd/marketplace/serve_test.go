package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/seal"
	"github.com/course-marketplace/backend/store/storetest"
)

// listening finds the address in the log line that says where the API listens.
var listening = regexp.MustCompile(`"address":"([^"]+)"`)

// The API starts without Temporal: it answers what needs no workflow, and says at
// /readyz what it lacks. Told to stop, it turns unready before it goes.
func TestServeWithoutTemporal(t *testing.T) {
	t.Parallel()
	keyset, err := seal.NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(stacktest.Shared(t).Environ(),
		"MARKETPLACE_ENV=production",
		"MARKETPLACE_DATABASE_URL="+storetest.New(t).URL,
		"MARKETPLACE_TEMPORAL_ADDRESS=127.0.0.1:1", // nothing listens there
		"MARKETPLACE_LISTEN_ADDR=127.0.0.1:0",
		"MARKETPLACE_PUBLIC_URL=http://127.0.0.1",
		"MARKETPLACE_SEAL_KEYSET="+keyset,
		"MARKETPLACE_DRAIN_DELAY=3s",
	)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	var base string
	select {
	case a := <-address:
		base = "http://" + a
	case <-time.After(30 * time.Second):
		t.Fatal("it does not listen")
	}

	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200, "/openapi.json": 200, "/v1/credits": 401} {
		if got, err := status(t, base+path); err != nil || got != want {
			t.Errorf("GET %s answers %d (%v), want %d", path, got, err, want)
		}
	}
	if got := checks(t, base); got["temporal"] == "ok" || got["database"] != "ok" {
		t.Errorf("/readyz says %v", got)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Second, func() error {
		if got := checks(t, base); got["server"] != "draining" {
			return fmt.Errorf("/readyz says %v after SIGTERM", got)
		}
		return nil
	})
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func status(t *testing.T, url string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// checks is what /readyz says of the parts.
func checks(t *testing.T, base string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct{ Checks map[string]string }
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body.Checks
}
