package worker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/seal"
)

const (
	// dialPatience is how long Dial waits for a Temporal that is still starting.
	dialPatience = 2 * time.Minute
	dialPause    = time.Second
	dialTimeout  = 5 * time.Second
)

// Dial connects to Temporal, waiting up to two minutes for one that is not up yet.
// The worker uses it: without Temporal it has nothing to do.
func Dial(ctx context.Context, cfg config.Temporal, sealer *seal.Sealer, logger *slog.Logger, metrics client.MetricsHandler) (client.Client, error) {
	options, err := clientOptions(cfg, sealer, logger, metrics)
	if err != nil {
		return nil, err
	}
	patience, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	for {
		c, err := dialOnce(patience, options)
		if err == nil {
			return c, nil
		}
		select {
		case <-patience.Done():
			return nil, fmt.Errorf("no answer from Temporal at %s, namespace %s (MARKETPLACE_TEMPORAL_ADDRESS): %w",
				cfg.Address, cfg.Namespace, errors.Join(ctx.Err(), err))
		case <-time.After(dialPause):
			logger.InfoContext(ctx, "waiting for Temporal", "address", cfg.Address, "error", err)
		}
	}
}

func dialOnce(ctx context.Context, options client.Options) (client.Client, error) {
	once, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return client.DialContext(once, options)
}

// NewClient makes a client that connects when it is first used. The API uses it: it
// starts without Temporal, answers reads, and refuses with 503 what needs a workflow.
func NewClient(cfg config.Temporal, sealer *seal.Sealer, logger *slog.Logger, metrics client.MetricsHandler) (client.Client, error) {
	options, err := clientOptions(cfg, sealer, logger, metrics)
	if err != nil {
		return nil, err
	}
	return client.NewLazyClient(options)
}

func clientOptions(cfg config.Temporal, sealer *seal.Sealer, logger *slog.Logger, metrics client.MetricsHandler) (client.Options, error) {
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{})
	if err != nil {
		return client.Options{}, fmt.Errorf("tracing of workflows: %w", err)
	}
	options := client.Options{
		HostPort:         cfg.Address,
		Namespace:        cfg.Namespace,
		Logger:           log.NewStructuredLogger(logger),
		MetricsHandler:   metrics,
		DataConverter:    seal.DataConverter(sealer),
		FailureConverter: seal.FailureConverter(sealer),
		Interceptors:     []interceptor.ClientInterceptor{tracing},
	}
	if cfg.APIKey.IsSet() {
		options.Credentials = client.NewAPIKeyStaticCredentials(cfg.APIKey.Reveal())
	}
	if cfg.UsesTLS() {
		options.ConnectionOptions.TLS, err = tlsConfig(cfg)
	}
	return options, err
}

func tlsConfig(cfg config.Temporal) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cfg.TLSServerName}
	if cfg.TLSCertFile != "" {
		pair, err := tls.LoadX509KeyPair(cfg.TLSCertFile, cfg.TLSKeyFile)
		if err != nil {
			return nil, fmt.Errorf("MARKETPLACE_TEMPORAL_TLS_CERT_FILE: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	if cfg.TLSCAFile != "" {
		pem, err := os.ReadFile(cfg.TLSCAFile)
		if err != nil {
			return nil, fmt.Errorf("MARKETPLACE_TEMPORAL_TLS_CA_FILE: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("MARKETPLACE_TEMPORAL_TLS_CA_FILE: no certificate in %s", cfg.TLSCAFile)
		}
	}
	return t, nil
}
