package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/seal"
	"github.com/course-marketplace/backend/internal/telemetry"
	"github.com/course-marketplace/backend/store"
)

// process is what the long-running commands (serve, worker) have in common.
type process struct {
	cfg     *config.Config
	logger  *slog.Logger
	metrics *telemetry.Metrics
	sealer  *seal.Sealer
	store   *store.Store
	storage *bundle.Storage

	endTracing func(context.Context) error
}

// startProcess reads the settings and opens what the settings name. The database
// is not contacted yet.
func startProcess(ctx context.Context, command config.Command) (*process, error) {
	cfg, err := config.Load(command)
	if err != nil {
		return nil, err
	}
	p := &process{cfg: cfg, logger: newLogger(cfg, string(command))}
	slog.SetDefault(p.logger)
	if p.sealer, err = seal.New(cfg.Seal.Keyset.Reveal()); err != nil {
		return nil, keysetError(err)
	}
	if p.metrics, err = telemetry.NewMetrics(buildVersion(), p.logger); err != nil {
		return nil, err
	}
	if p.endTracing, err = telemetry.SetupTracing(ctx, string(command), buildVersion(), p.logger); err != nil {
		return nil, err
	}
	if p.store, err = openStore(ctx, cfg); err != nil {
		return nil, err
	}
	if p.storage, err = openStorage(cfg.S3); err != nil {
		return nil, err
	}
	p.metrics.ObservePool(p.store.Pool())
	p.logger.InfoContext(ctx, "starting", "version", buildVersion(), "environment", cfg.Process.Env)
	return p, nil
}

func newLogger(cfg *config.Config, name string) *slog.Logger {
	return telemetry.NewLogger(os.Stderr, telemetry.LogOptions{
		Format: cfg.Process.LogFormat, Level: cfg.Process.LogLevel, Process: name,
	})
}

func openStore(ctx context.Context, cfg *config.Config) (*store.Store, error) {
	return store.Open(ctx, cfg.Database.URL.Reveal(), store.Options{
		FeeBasisPoints: cfg.Rules.FeeBasisPoints,
		MaxConns:       cfg.Database.MaxConns,
	})
}

func openStorage(cfg config.S3) (*bundle.Storage, error) {
	return bundle.NewStorage(bundle.Config{
		Endpoint: cfg.Endpoint, PublicEndpoint: cfg.PublicEndpoint, Region: cfg.Region, Bucket: cfg.Bucket, PathStyle: cfg.PathStyle,
		AccessKey: cfg.AccessKey.Reveal(), SecretKey: cfg.SecretKey.Reveal(),
	})
}

// close ends what startProcess began, when nothing uses it any more.
func (p *process) close() {
	p.store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.endTracing(ctx); err != nil {
		p.logger.Warn("the last traces were not sent", "error", err)
	}
	p.logger.Info("stopped")
}

// metricsRoutes answers on the separate metrics listener.
func (p *process) metricsRoutes(ready http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /readyz", ready)
	return mux
}
