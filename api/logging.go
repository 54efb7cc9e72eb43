package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
)

// accessLog writes one line per request. Paths are logged without their query: a
// web flow's query carries codes.
func (s *Server) accessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() { s.logRequest(r, answer, time.Since(started)) }()
		next.ServeHTTP(answer, r)
	})
}

func (s *Server) logRequest(r *http.Request, answer middleware.WrapResponseWriter, took time.Duration) {
	t := traceOf(r.Context())
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("path", r.URL.Path),
		slog.Int("status", answer.Status()),
		slog.Int("bytes", answer.BytesWritten()),
		slog.Duration("took", took),
		slog.String("client", t.address.String()),
	}
	if t.operation != "" {
		attrs = append(attrs, slog.String("operation", t.operation))
	}
	if t.agentID != uuid.Nil {
		attrs = append(attrs, slog.String("agent_id", t.agentID.String()))
	}
	if t.failure != nil {
		attrs = append(attrs, slog.String("error", t.failure.Error()))
	}
	if answer.Status() >= http.StatusInternalServerError && answer.Status() != http.StatusNotImplemented {
		level = slog.LevelError
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// recoverPanics answers a defect as a problem instead of a closed connection.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // it is panicked with, never wrapped
				panic(v)
			}
			s.log.ErrorContext(r.Context(), "panic", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			s.fail(w, r, fmt.Errorf("panic: %v", v))
		}()
		next.ServeHTTP(w, r)
	})
}
