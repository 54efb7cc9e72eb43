// Package workertest runs the real worker against the real Temporal server for a test,
// on a task queue of its own.
package workertest

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/seal"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker"
)

// Options choose what a test cares about.
type Options struct {
	// Grace is how long after the deadline a bounty expires; two weeks if it is zero.
	Grace time.Duration
	// Recheck is how often a held payout looks again; 50 ms if it is zero.
	Recheck time.Duration
	// Clear leaves the payloads unsealed, so that histories can be read.
	Clear bool
	// Idle makes no worker: requests to workflows find nobody.
	Idle bool
	// Storage holds the files of course versions; reviews need it.
	Storage *bundle.Storage
}

// Temporal is a test's own corner of the Temporal server.
type Temporal struct {
	Client    client.Client
	TaskQueue string

	parts worker.Parts
	cfg   config.Config
}

// New connects to Temporal and runs a worker on s until the test ends.
func New(t testing.TB, s *store.Store, o Options) *Temporal {
	t.Helper()
	temporal := &Temporal{TaskQueue: "test-" + rand.Text(), parts: worker.Parts{Store: s, Storage: o.Storage}}
	temporal.cfg.Tasks = config.TaskHandling{TaskQueue: temporal.TaskQueue, Activities: 20, WorkflowTasks: 20, StopTimeout: 5 * time.Second}
	temporal.cfg.Rules = config.Rules{
		FeeBasisPoints: storetest.FeeBasisPoints, BountyGrace: cmp.Or(o.Grace, 14*24*time.Hour),
		HoldRecheck: cmp.Or(o.Recheck, 50*time.Millisecond), PayoutMaxAttempts: 3,
	}
	temporal.connect(t, o)
	if !o.Idle {
		temporal.Start(t)
	}
	return temporal
}

func (w *Temporal) connect(t testing.TB, o Options) {
	t.Helper()
	endpoints := stacktest.Shared(t)
	quiet := slog.New(slog.DiscardHandler)
	var err error
	if o.Clear {
		w.Client, err = client.NewLazyClient(client.Options{HostPort: endpoints.TemporalAddress, Namespace: endpoints.Namespace,
			Identity: "worker", Logger: log.NewStructuredLogger(quiet), DataConverter: converter.GetDefaultDataConverter()})
	} else {
		temporal := config.Temporal{Address: endpoints.TemporalAddress, Namespace: endpoints.Namespace}
		w.Client, err = worker.NewClient(temporal, newSealer(t), quiet, client.MetricsNopHandler)
	}
	if err != nil {
		t.Fatalf("connect to Temporal: %v", err)
	}
	t.Cleanup(w.Client.Close)
}

func newSealer(t testing.TB) *seal.Sealer {
	t.Helper()
	keyset, err := seal.NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New(keyset)
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

// Start runs a worker until the test ends or stops it.
func (w *Temporal) Start(t testing.TB) sdkworker.Worker {
	t.Helper()
	running := worker.New(w.Client, w.parts, w.cfg)
	if err := running.Start(); err != nil {
		t.Fatalf("start the worker: %v", err)
	}
	t.Cleanup(running.Stop)
	return running
}

// Eventually waits until check returns no error, and fails the test if that takes too
// long. What it waits for is an event elsewhere, so it asks often.
func Eventually(t testing.TB, check func() error) {
	t.Helper()
	const patience = 20 * time.Second
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", patience, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
