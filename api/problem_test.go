package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/store/storetest"
)

func TestProblemsHaveOneForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	got := f.want(f.send("GET", "/v1/admin/feature-flags", a.Key, nil, "X-Request-ID", "my-id"), 403, "role_required")
	var problem map[string]any
	if err := json.Unmarshal(got.body, &problem); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"type": "https://market.example/docs/errors#role_required", "title": "Forbidden", "status": 403.0, "code": "role_required", "request_id": "my-id",
	} {
		if problem[name] != want {
			t.Errorf("%s is %v, want %v", name, problem[name], want)
		}
	}
	if detail, _ := problem["detail"].(string); !strings.HasSuffix(detail, ".") {
		t.Errorf("detail is no sentence: %q", detail)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("Content-Type is %q", ct)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, test := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", "/", 404, "route_not_found", ""},
		{"GET", "/v1/nothing", 404, "route_not_found", ""},
		{"GET", "/v2/courses", 404, "route_not_found", ""},
		{"POST", "/v1/courses/", 404, "route_not_found", ""},
		{"PUT", "/v1/courses", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"POST", "/v1/bounties/x", 405, "method_not_allowed", "GET, HEAD, PATCH, DELETE"},
		{"TRACE", "/v1/courses", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"DELETE", "/healthz", 405, "method_not_allowed", "GET, HEAD"},
	} {
		got := f.send(test.method, test.path, "", nil)
		if got.status != test.status || got.code() != test.code || got.header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d, Allow %q: %s", test.method, test.path, got.status, got.header.Get("Allow"), got.body)
		}
	}
	if head := f.send("HEAD", "/v1/courses", "", nil); head.status != 200 || len(head.body) != 0 {
		t.Errorf("HEAD: %d with %d bytes", head.status, len(head.body))
	}
}

func TestBodiesRefusedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	large := `{"title":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, test := range []struct {
		name, body, mediaType string
		status                int
		code                  string
	}{
		{"too large", large, "application/json", 413, "body_too_large"},
		{"form", "title=Go", "application/x-www-form-urlencoded", 415, "unsupported_media_type"},
		{"no media type", `{"title":"Go"}`, "", 415, "unsupported_media_type"},
		{"another charset", `{"title":"Go"}`, "application/json; charset=latin1", 415, "unsupported_media_type"},
		{"charset", `{"title":"Go"}`, "application/json; charset=utf-8", 201, ""},
	} {
		for _, headers := range [][]string{{"Content-Type", test.mediaType}, {"Content-Type", test.mediaType, "Idempotency-Key", "k-" + test.name}} {
			got := f.send("POST", "/v1/courses", a.Key, test.body, headers...)
			if got.status != test.status || got.code() != test.code {
				t.Errorf("%s: %d %s, want %d %s", test.name, got.status, got.body, test.status, test.code)
			}
		}
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, test := range []struct {
		name, sent string
		kept       bool
	}{
		{"the caller's", "order-17/try:2", true},
		{"longest", strings.Repeat("x", 128), true},
		{"too long", strings.Repeat("x", 129), false},
		{"with a space", "a b", false},
		{"not ASCII", "é", false},
		{"none", "", false},
	} {
		got := f.send("GET", "/v1/courses", "", nil, "X-Request-ID", test.sent).header.Get("X-Request-ID")
		if got == "" || (got == test.sent) != test.kept {
			t.Errorf("%s: sent %q, got %q", test.name, test.sent, got)
		}
	}
}

func TestDefectsTellNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	if _, err := f.db.Pool().Exec(t.Context(), "ALTER TABLE courses RENAME COLUMN title TO secret_column"); err != nil {
		t.Fatal(err)
	}
	got := f.want(f.send("GET", "/v1/courses", a.Key, nil), 500, "internal_error")
	if strings.Contains(string(got.body), "column") || strings.Contains(string(got.body), "title\" does") {
		t.Errorf("the answer tells of the database: %s", got.body)
	}
	if !strings.Contains(f.log.String(), "does not exist") {
		t.Error("the log does not tell the cause")
	}
}

func TestAnOutageIs503(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.want(f.send("GET", "/readyz", "", nil), 200, "")
	// The database goes away: new connections are refused.
	f.db.RefuseConnections(t)
	got := f.want(f.send("GET", "/v1/credits", a.Key, nil), 503, "database_unavailable")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f.want(f.send("GET", "/readyz", "", nil), 503, "")
	f.want(f.send("GET", "/healthz", "", nil), 200, "")
}

func TestReadinessWhileDraining(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *api.Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) })
	})
	f.want(f.send("GET", "/readyz", "", nil), 200, "")
	f.server.Drain()
	if got := f.want(f.send("GET", "/readyz", "", nil), 503, ""); !strings.Contains(string(got.body), "draining") {
		t.Errorf("not ready because: %s", got.body)
	}
	f.want(f.send("GET", "/v1/courses", "", nil), 200, "") // requests under way are still served
	if got := f.want(f.send("GET", "/metrics", "", nil), 200, ""); string(got.body) != "up 1\n" {
		t.Errorf("metrics: %s", got.body)
	}
}

func TestTheDocumentationIsServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.send("GET", "/openapi.json", "", nil), 200, "")
	f.want(f.send("GET", "/docs", "", nil), 200, "")
	if got := f.want(f.send("GET", "/docs/errors", "", nil), 200, ""); !strings.Contains(string(got.body), "insufficient_credit") {
		t.Error("/docs/errors does not list the codes")
	}
}
