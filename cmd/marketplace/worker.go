package main

import (
	"context"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/worker"
)

// sweepEvery is far more often than rows run out, so that each sweep is small.
const sweepEvery = 5 * time.Minute

func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run workflows and activities",
		Long: "Runs the long-lived flows: bounties, payouts. Any number may run. Told to stop (SIGTERM), a\n" +
			"worker takes no new tasks and lets those under way finish; another worker goes on with the rest.",
		Args: cobra.NoArgs,
		RunE: runWorker,
	}
}

func runWorker(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	p, err := startProcess(ctx, config.Worker)
	if err != nil {
		return err
	}
	defer p.close()
	temporal, err := worker.Dial(ctx, p.cfg.Temporal, p.sealer, p.logger, p.metrics.Temporal())
	if err != nil {
		return err
	}
	defer temporal.Close()
	w, err := worker.New(temporal, p.store, *p.cfg)
	if err != nil {
		return err
	}
	failed := make(<-chan error)
	if addr := p.cfg.Process.MetricsAddr; addr != "" {
		l, err := listen(ctx, addr, "MARKETPLACE_METRICS_ADDR", p.metricsRoutes(p.workerReady(temporal)), p.logger)
		if err != nil {
			return err
		}
		defer func() { _ = l.server.Close() }()
		failed = l.failed
	}

	go p.sweep(ctx)

	// Run ends by itself when the server turns the worker away for good.
	stop, ended := make(chan any), make(chan error, 1)
	go func() { ended <- w.Run(stop) }()
	select {
	case err := <-ended:
		return err
	case err = <-failed:
	case <-ctx.Done():
		p.logger.Info("draining: no new tasks, those under way finish", "timeout", p.cfg.Tasks.StopTimeout)
	}
	close(stop)
	if stopErr := <-ended; stopErr != nil {
		return stopErr
	}
	return err
}

// sweep deletes what has run out (idempotency keys, rate limit windows) every few
// minutes. Every worker does it; the deletions do not get in each other's way.
func (p *process) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		deleted, err := p.store.Sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.logger.WarnContext(ctx, "expired rows were not deleted", "error", err)
		case deleted > 0:
			p.logger.DebugContext(ctx, "deleted expired rows", "rows", deleted)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// workerReady answers whether the parts that a worker depends on answer.
func (p *process) workerReady(temporal client.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.store.Ping(r.Context()); err != nil {
			http.Error(w, "Postgres does not answer", http.StatusServiceUnavailable)
			return
		}
		if _, err := temporal.CheckHealth(r.Context(), &client.CheckHealthRequest{}); err != nil {
			http.Error(w, "Temporal does not answer", http.StatusServiceUnavailable)
		}
	})
}
