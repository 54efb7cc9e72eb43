package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// unmatched is the route of requests that no handler exists for: their paths are
// the caller's invention and must not become labels.
const unmatched = "unmatched"

// HTTP wraps a chi router: each request is counted, timed and traced under the
// pattern of the route it matched (/v1/bounties/{bounty_id}), never under its path.
func (m *Metrics) HTTP(router http.Handler) http.Handler {
	measured := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// chi fills in a routing context that is there already, which is how the
		// matched pattern can be read out here, around the router.
		route := chi.NewRouteContext()
		if routes, ok := router.(chi.Routes); ok {
			route.Routes = routes
		}
		r = r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, route))

		m.inFlight.Inc()
		defer m.inFlight.Dec()
		answer := httpsnoop.CaptureMetrics(router, w, r)
		m.observe(r, route.RoutePattern(), answer.Code, answer.Duration)
	})
	return otelhttp.NewHandler(measured, "http", otelhttp.WithFilter(isTraced))
}

func (m *Metrics) observe(r *http.Request, pattern string, status int, took time.Duration) {
	method := knownMethod(r.Method)
	if pattern == "" || pattern == "/*" {
		pattern = unmatched
	}
	m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(method, pattern).Observe(took.Seconds())
	span := trace.SpanFromContext(r.Context())
	span.SetName(method + " " + pattern)
	span.SetAttributes(attribute.String("http.route", pattern))
}

// knownMethod keeps made-up methods from becoming labels.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// isTraced leaves out what machines ask for every few seconds.
func isTraced(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
		return false
	}
	return true
}
