package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/trace"
)

const key = "cmk_AbCd1234_0123456789abcdefghijABCDEFGHIJ01_x7Yz9Q"

func TestLogsHoldNoCredentials(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		log        func(*slog.Logger)
		want, hide string
	}{
		"key in a message":       {func(l *slog.Logger) { l.Info("called with " + key) }, "cmk_AbCd1234_***", "0123456789"},
		"key in a value":         {func(l *slog.Logger) { l.Info("m", "detail", key) }, "cmk_AbCd1234_***", "0123456789"},
		"key in an error":        {func(l *slog.Logger) { l.Info("m", "error", errors.New("refused "+key)) }, "refused cmk_AbCd1234_***", "0123456789"},
		"key in a bound value":   {func(l *slog.Logger) { l.With("k", key).Info("m") }, "cmk_AbCd1234_***", "0123456789"},
		"key in a group":         {func(l *slog.Logger) { l.Info("m", slog.Group("g", "k", key)) }, "cmk_AbCd1234_***", "0123456789"},
		"header by name":         {func(l *slog.Logger) { l.Info("m", "Authorization", "Bearer abc") }, "***", "abc"},
		"header by look":         {func(l *slog.Logger) { l.Info("m", "h", "Bearer abcdefgh.ijkl") }, "Bearer ***", "abcdefgh"},
		"password by name":       {func(l *slog.Logger) { l.Info("m", "user_password", "hunter2") }, "***", "hunter2"},
		"password in a URL":      {func(l *slog.Logger) { l.Info("m", "error", errors.New("dial postgres://app:hunter2@db/x")) }, "postgres://app:***@db/x", "hunter2"},
		"ordinary text is left":  {func(l *slog.Logger) { l.Info("bounty funded", "bounty_id", "0198") }, "bounty funded", "***"},
		"a URL without password": {func(l *slog.Logger) { l.Info("m", "url", "https://market.example.com:8080/v1") }, "https://market.example.com:8080/v1", "***"},
	}
	for name, tt := range tests {
		for _, format := range []string{"json", "text"} {
			t.Run(name+"/"+format, func(t *testing.T) {
				t.Parallel()
				var b strings.Builder
				tt.log(NewLogger(&b, LogOptions{Format: format, Level: slog.LevelInfo, Process: "serve"}))
				if got := b.String(); !strings.Contains(got, tt.want) || strings.Contains(got, tt.hide) {
					t.Errorf("want %q and no %q in: %s", tt.want, tt.hide, got)
				}
			})
		}
	}
}

func TestLogsBearTheContext(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	logger := NewLogger(&b, LogOptions{Format: "text", Process: "worker"})
	ctx := WithLogAttrs(t.Context(), slog.String("request_id", "r-1"))
	inner := WithLogAttrs(ctx, slog.String("agent_id", "a-1"))
	ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))

	logger.InfoContext(inner, "inner")
	logger.InfoContext(ctx, "outer")

	lines := strings.Split(b.String(), "\n")
	if !strings.Contains(lines[0], "process=worker request_id=r-1 agent_id=a-1") {
		t.Error(lines[0])
	}
	if !strings.Contains(lines[1], "request_id=r-1 trace_id=01") || strings.Contains(lines[1], "agent_id") {
		t.Error(lines[1])
	}
}

func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	m, err := NewMetrics("v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	router := chi.NewRouter()
	router.Route("/v1/bounties", func(r chi.Router) {
		r.Get("/{bounty_id}", func(w http.ResponseWriter, r *http.Request) {
			if chi.URLParam(r, "bounty_id") == "2" {
				w.WriteHeader(http.StatusNotFound)
			}
		})
	})
	handler := m.HTTP(router)
	for _, call := range []string{"GET /v1/bounties/1", "GET /v1/bounties/2", "GET /v1/bounties/3", "GET /nowhere/a", "BREW /nowhere/b"} {
		method, path, _ := strings.Cut(call, " ")
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, path, nil))
	}
	m.Temporal().WithTags(map[string]string{"namespace": "default"}).Counter("temporal_request").Inc(1)

	m.Temporal().Timer("temporal_request_latency").Record(3 * time.Millisecond)

	got := scrape(t.Context(), m)
	for _, want := range []string{
		`marketplace_http_requests_total{method="GET",route="/v1/bounties/{bounty_id}",status="200"} 2`,
		`marketplace_http_requests_total{method="GET",route="/v1/bounties/{bounty_id}",status="404"} 1`,
		`marketplace_http_requests_total{method="GET",route="unmatched",status="404"} 1`,
		`marketplace_http_requests_total{method="other",route="unmatched",status="405"} 1`,
		`marketplace_http_request_duration_seconds_count{method="GET",route="/v1/bounties/{bounty_id}"} 3`,
		`marketplace_build_info{version="v1.2.3"} 1`,
		`temporal_request_total{namespace="default"} 1`,
		`temporal_request_latency_seconds_bucket{le="0.005"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func scrape(ctx context.Context, m *Metrics) string {
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil))
	body, _ := io.ReadAll(rec.Body)
	return string(body)
}
