package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/worker"
)

func newServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Answer the REST API",
		Long: "Answers the API. Any number may run behind a load balancer: none keeps state another needs. It\n" +
			"starts before Temporal and Postgres are up and says so at /readyz. Told to stop (SIGTERM), it\n" +
			"turns unready, answers what is under way and ends.",
		Args: cobra.NoArgs,
		RunE: runServe,
	}
}

func runServe(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	p, err := startProcess(ctx, config.Serve)
	if err != nil {
		return err
	}
	defer p.close()
	temporal, err := worker.NewClient(p.cfg.Temporal, p.sealer, p.logger, p.metrics.Temporal())
	if err != nil {
		return err
	}
	defer temporal.Close()
	server, err := api.New(p.apiOptions(temporal))
	if err != nil {
		return err
	}
	return p.serve(ctx, server)
}

// serve answers requests until ctx ends, then lets those under way finish.
func (p *process) serve(ctx context.Context, server *api.Server) error {
	l, err := listen(ctx, p.cfg.HTTP.ListenAddr, "MARKETPLACE_LISTEN_ADDR", p.metrics.HTTP(server.Handler()), p.logger)
	if err != nil {
		return err
	}
	metricsFailed := make(<-chan error)
	if addr := p.cfg.Process.MetricsAddr; addr != "" {
		m, err := listen(ctx, addr, "MARKETPLACE_METRICS_ADDR", p.metricsRoutes(http.HandlerFunc(server.Ready)), p.logger)
		if err != nil {
			return err
		}
		defer func() { _ = m.server.Close() }()
		metricsFailed = m.failed
	}
	p.logger.InfoContext(ctx, "answering requests", "address", l.address(), "public_url", p.cfg.HTTP.PublicURL)
	select {
	case err = <-l.failed:
		return err
	case err = <-metricsFailed:
	case <-ctx.Done():
	}
	return errors.Join(err, p.drain(l, server))
}

// drain turns the server unready, waits for load balancers to notice, and ends when
// the requests under way are answered.
func (p *process) drain(l *listener, server *api.Server) error {
	p.logger.Info("draining: requests under way are answered", "timeout", p.cfg.Process.ShutdownTimeout)
	server.Drain()
	select {
	case err := <-l.failed:
		return err
	case <-time.After(p.cfg.HTTP.DrainDelay):
	}
	return l.shutdown(p.cfg.Process.ShutdownTimeout - p.cfg.HTTP.DrainDelay)
}

func (p *process) apiOptions(temporal client.Client) api.Options {
	o := api.Options{
		Store:          p.store,
		Flows:          &api.Flows{Client: temporal, TaskQueue: p.cfg.Tasks.TaskQueue, Wait: p.cfg.HTTP.UpdateWait},
		Storage:        p.storage,
		Sealer:         p.sealer,
		Logger:         p.logger,
		Limits:         limits(p.cfg.RateLimit),
		PublicURL:      p.cfg.HTTP.PublicURL,
		TrustedProxies: p.cfg.HTTP.TrustedProxies,

		ReviewLinkLifetime: p.cfg.Rules.ReviewBundleURLLifetime,
	}
	if p.cfg.Process.MetricsAddr == "" {
		o.Metrics = p.metrics.Handler()
	}
	return o
}

func limits(r config.RateLimit) api.Limits {
	per := func(n int, period time.Duration) store.Limit {
		return store.Limit{Max: n * r.Multiplier, Period: period}
	}
	const day = 24 * time.Hour
	return api.Limits{
		Signups:        per(r.SignupsPerHour, time.Hour),
		PasswordChecks: per(r.PasswordChecksPer15Min, 15*time.Minute),
		DeviceBegins:   per(r.DeviceBeginsPerHour, time.Hour),
		Referrals: store.ReferralLimits{
			PerCode:    per(r.ReferralsPerCodePerDay, day),
			PerAddress: per(r.ReferralsPerAddressPerDay, day),
		},
	}
}
