package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/seal"
)

// devRateLimitMultiplier keeps rate limits out of the way of whoever develops
// against the stack, without turning them off.
const devRateLimitMultiplier = "100"

func (d *development) path(name string) string { return filepath.Join(d.options.dir, name) }

func (d *development) keysetPath() string { return d.path("keyset") }

func (d *development) credentialsPath() string { return d.path("credentials.json") }

func (d *development) baseURL() string { return "http://" + loopbackAddr(d.stack.Ports.API) }

func loopbackAddr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// ensureKeyset makes the keyset at the first start. Later starts need the same
// one, to read what earlier ones sealed.
func (d *development) ensureKeyset() error {
	_, err := os.Stat(d.keysetPath())
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	keyset, err := seal.NewKeyset()
	if err != nil {
		return err
	}
	return writeWhole(d.keysetPath(), []byte(keyset))
}

// startProcesses runs this binary's other commands as parts of the stack.
func (d *development) startProcesses(ctx context.Context) error {
	environ, err := d.environ()
	if err != nil {
		return err
	}
	ports := d.stack.Ports
	group, ctx := errgroup.WithContext(ctx)
	for command, ready := range map[config.Command]string{
		config.Serve:  d.baseURL() + "/readyz",
		config.Worker: "http://" + loopbackAddr(ports.WorkerMetrics) + "/readyz",
		config.Codec:  d.stack.CodecURL + "/healthz",
	} {
		part := devstack.Command{
			Name:  string(command),
			Argv:  []string{d.program, string(command)},
			Env:   environ,
			Ready: devstack.HTTPReady(ready),
			Echo:  d.options.showLogs,
		}
		if command == config.Worker {
			part.Env = append(part.Env[:len(part.Env):len(part.Env)], config.Prefix+"METRICS_ADDR="+loopbackAddr(ports.WorkerMetrics))
		}
		group.Go(func() error { return d.stack.Run(ctx, part) })
	}
	return group.Wait()
}

// environ is what the parts run with besides this process's own environment: where
// the stack is, and what suits a machine with nobody else on it.
func (d *development) environ() ([]string, error) {
	keyset, err := filepath.Abs(d.keysetPath())
	if err != nil {
		return nil, err
	}
	environ := d.stack.Environ()
	for name, value := range map[string]string{
		"SEAL_KEYSET":                     "",
		"SEAL_KEYSET" + config.FileSuffix: keyset,
		"RATE_LIMIT_MULTIPLIER":           devRateLimitMultiplier,
		"DRAIN_DELAY":                     "0s", // no load balancer
		"SHUTDOWN_TIMEOUT":                "8s", // the stack kills what takes longer than 10 s
		"WORKER_STOP_TIMEOUT":             "5s",
	} {
		environ = append(environ, config.Prefix+name+"="+value)
	}
	return environ, nil
}

// writeWhole writes a file that only its owner reads and that others see whole or
// not at all.
func writeWhole(path string, content []byte) error {
	unfinished := path + ".new"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}
