package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/telemetry"
)

// bare returns a server without a database, for what needs none.
func bare(t *testing.T) (*Server, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	s, err := New(Options{Logger: telemetry.NewLogger(log, telemetry.LogOptions{Format: "text", Level: slog.LevelInfo})})
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// answerOf sends one request through the outer layers to a handler.
func answerOf(s *Server, path string, handler http.HandlerFunc) *httptest.ResponseRecorder {
	r := chi.NewRouter()
	r.Use(s.withTrace, s.accessLog, s.recoverPanics)
	r.Get("/*", handler)
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("X-Request-ID", "my-id")
	r.ServeHTTP(w, request)
	return w
}

func TestListedOperationsAreInTheDocument(t *testing.T) {
	t.Parallel()
	s, _ := bare(t)
	known := map[string]*operation{}
	for _, op := range s.operations {
		known[op.id] = op
	}
	listed := slices.Concat(laterOperations, slices.Collect(maps.Keys(requiredRoles)), slices.Collect(maps.Keys(requiredFlags)))
	for _, id := range listed {
		if known[id] == nil {
			t.Errorf("%s is listed in the code but not in the document", id)
		}
	}
	for id := range requiredRoles {
		if op := known[id]; op != nil && !op.keyRequired {
			t.Errorf("%s needs a role but takes no key", id)
		}
	}
}

func TestOperationsAreReadFromTheDocument(t *testing.T) {
	t.Parallel()
	s, _ := bare(t)
	for _, test := range []struct {
		route route
		want  operation
	}{
		{route{"POST", "/v1/bounties"}, operation{id: "create_bounty", keyRequired: true, idempotent: true, malformed: asProblem}},
		{route{"GET", "/v1/courses"}, operation{id: "list_courses", keyOptional: true}},
		{route{"GET", "/v1/resources"}, operation{id: "list_resources"}},
		{route{"POST", "/v1/identity/users"}, operation{id: "create_user_with_agent", idempotent: true}},
		{route{"GET", "/v1/notifications"}, operation{id: "list_notifications", keyRequired: true, malformed: asCursorProblem}},
		{route{"POST", "/v1/courses/{course_id}/versions"}, operation{id: "create_course_version", keyRequired: true, idempotent: true, streams: true}},
	} {
		if got := s.operations[test.route]; got == nil || *got != test.want {
			t.Errorf("%v is read as %+v, want %+v", test.route, got, test.want)
		}
	}
}

func TestEveryKindOfErrorHasAStatus(t *testing.T) {
	t.Parallel()
	s, _ := bare(t)
	want := map[market.Kind]int{
		market.KindInvalid: 422, market.KindUnauthenticated: 401, market.KindPaymentRequired: 402, market.KindForbidden: 403,
		market.KindNotFound: 404, market.KindConflict: 409, market.KindGone: 410, market.KindTooLarge: 413, market.KindUnsupported: 415,
		market.KindRefused: 422, market.KindRateLimited: 429, market.KindNotImplemented: 501, market.KindUnavailable: 503, market.KindInternal: 500,
	}
	for kind, status := range want {
		e := &market.Error{Kind: kind, Code: "some_code", Detail: "Some detail.", Cause: errors.New("the cause")}
		w := answerOf(s, "/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, fmt.Errorf("wrapped: %w", e)) })
		if w.Code != status || strings.Contains(w.Body.String(), "cause") {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
		if kind == market.KindInternal && !strings.Contains(w.Body.String(), `"internal_error"`) {
			t.Errorf("an internal error shows itself: %s", w.Body)
		}
	}
}

func TestOtherErrors(t *testing.T) {
	t.Parallel()
	s, _ := bare(t)
	for _, test := range []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"a body over the limit", &http.MaxBytesError{Limit: 9}, 413, "body_too_large"},
		{"time ran out", context.DeadlineExceeded, 503, "timeout"},
		{"anything else", errors.New("secret"), 500, "internal_error"},
		{"a cancelled part of a live request", context.Canceled, 500, "internal_error"},
	} {
		w := answerOf(s, "/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, test.err) })
		if w.Code != test.status || !strings.Contains(w.Body.String(), `"`+test.code+`"`) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", test.name, w.Code, w.Body)
		}
	}
}

func TestPanicsAreAnswered(t *testing.T) {
	t.Parallel()
	s, log := bare(t)
	w := answerOf(s, "/", func(http.ResponseWriter, *http.Request) { panic("secret cause") })
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"internal_error"`) || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "secret cause") || !strings.Contains(log.String(), "pipeline_test.go") {
		t.Errorf("the log does not tell where: %s", log)
	}
	defer func() {
		if recover() != http.ErrAbortHandler { //nolint:errorlint // it is panicked with, never wrapped
			t.Error("an aborted answer goes on")
		}
	}()
	answerOf(s, "/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

func TestEachRequestIsOneLogLine(t *testing.T) {
	t.Parallel()
	s, log := bare(t)
	answerOf(s, "/v1/identity/codehost/callback?code=secret-code", func(w http.ResponseWriter, r *http.Request) {
		traceOf(r.Context()).operation = "complete_codehost_callback"
		s.fail(w, r, market.NotFound("course"))
	})
	line := log.String()
	for _, part := range []string{"request_id=my-id", "method=GET", "path=/v1/identity/codehost/callback", "status=404", "operation=complete_codehost_callback", "course_not_found", "client=192.0.2.1"} {
		if !strings.Contains(line, part) {
			t.Errorf("the line lacks %q: %s", part, line)
		}
	}
	if strings.Count(line, "\n") != 1 || strings.Contains(line, "secret-code") {
		t.Errorf("not one line, or with the query: %s", line)
	}
}
