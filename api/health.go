package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
)

const readinessTimeout = 2 * time.Second

// mountOperator adds what operators and their orchestrators ask.
func (s *Server) mountOperator(r chi.Router) {
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, jsonType, http.StatusOK, map[string]string{"status": "ok"})
	})
	r.Get("/readyz", s.Ready)
	if s.metrics != nil {
		r.Method(http.MethodGet, "/metrics", s.metrics)
	}
}

// Drain makes the server answer that it is not ready, so that it gets no new requests
// while those under way end.
func (s *Server) Drain() { s.draining.Store(true) }

// Ready answers whether requests can be served: 200, or 503 with the parts that fail.
func (s *Server) Ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readinessTimeout)
	defer cancel()
	checks := map[string]string{"database": outcome(s.store.Ping(ctx))}
	if s.flows != nil {
		checks["temporal"] = outcome(s.flows.Check(ctx))
	}
	if s.draining.Load() {
		checks["server"] = "draining"
	}
	status, word := http.StatusOK, "ready"
	for _, answer := range checks {
		if answer != "ok" {
			status, word = http.StatusServiceUnavailable, "not ready"
		}
	}
	writeJSON(w, jsonType, status, map[string]any{"status": word, "checks": checks})
}

func outcome(err error) string {
	if err != nil {
		return "unavailable"
	}
	return "ok"
}
