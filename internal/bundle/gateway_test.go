package bundle

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
)

const (
	testAccessKey = "test-access"
	testSecretKey = "test-secret-key"
)

var gatewayURL string

func TestMain(m *testing.M) {
	stop, err := startGateway()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// startGateway runs a real S3 service on a free port and returns when it
// accepts connections.
func startGateway() (stop func(), err error) {
	program, err := gatewayProgram()
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp("", "bundle-test-*")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	_ = listener.Close()
	cmd := exec.Command(program, "--access", testAccessKey, "--secret", testSecretKey, "--port", address, "--keep-alive", "--quiet", "posix", root)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(root)
	}
	gatewayURL = "http://" + address
	if err := awaitGateway(address); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func gatewayProgram() (string, error) {
	local, err := filepath.Abs("../../.dev/bin/versitygw")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(local); err == nil {
		return local, nil
	}
	return exec.LookPath("versitygw")
}

func awaitGateway(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the S3 gateway does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// newStorage makes a bucket of its own for the test.
func newStorage(tb testing.TB) *Storage {
	tb.Helper()
	return newStorageAt(tb, gatewayURL, "test-"+uuid.NewString())
}

func newStorageAt(tb testing.TB, endpoint, bucket string) *Storage {
	tb.Helper()
	s, err := NewStorage(Config{
		Endpoint: endpoint, Bucket: bucket, AccessKey: testAccessKey, SecretKey: testSecretKey,
		PathStyle: true, SpoolDir: tb.TempDir(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	if endpoint == gatewayURL {
		if err := s.EnsureBucket(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

func storedKeys(tb testing.TB, s *Storage) []string {
	tb.Helper()
	var keys []string
	for o, err := range s.List(tb.Context(), "") {
		if err != nil {
			tb.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}
