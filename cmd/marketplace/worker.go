package main

import (
	"net/http"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/worker"
)

func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run workflows and activities",
		Long: "Runs the long-lived flows: bounties, payouts, reviews. Any number may run. Told to stop (SIGTERM), a\n" +
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
	w := worker.New(temporal, worker.Parts{Store: p.store, Storage: p.storage}, *p.cfg)
	failed := make(<-chan error)
	if addr := p.cfg.Process.MetricsAddr; addr != "" {
		l, err := listen(ctx, addr, "MARKETPLACE_METRICS_ADDR", p.metricsRoutes(p.workerReady(temporal)), p.logger)
		if err != nil {
			return err
		}
		defer func() { _ = l.server.Close() }()
		failed = l.failed
	}

	if err := worker.EnsureSchedules(ctx, temporal, p.cfg.Tasks.TaskQueue); err != nil {
		return err
	}

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
