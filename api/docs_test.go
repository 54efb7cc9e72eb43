package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/api"
)

func get(h http.Handler, target, header, value string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	if header != "" {
		r.Header.Set(header, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOpenAPIDocumentIsServedOnce(t *testing.T) {
	t.Parallel()
	h := api.OpenAPIHandler()
	first := get(h, "/openapi.json", "", "")
	var document struct {
		OpenAPI string `json:"openapi"`
	}
	if err := json.Unmarshal(first.Body.Bytes(), &document); err != nil || document.OpenAPI != "3.1.0" {
		t.Fatalf("not an OpenAPI 3.1 document: %v", err)
	}
	again := get(h, "/openapi.json", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("the same document again: %d, %d bytes", again.Code, again.Body.Len())
	}
}

// Swagger UI must work without the internet, and must not be able to reach it.
func TestDocumentationLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	h := api.DocsHandler()
	page := get(h, "/docs", "", "")
	if page.Code != http.StatusOK || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("the page: %d %s", page.Code, page.Header().Get("Content-Type"))
	}
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "http") {
		t.Errorf("the policy allows other origins: %s", policy)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(links) < 4 {
		t.Fatalf("the page loads %d files", len(links))
	}
	for _, link := range links {
		if !strings.HasPrefix(link[1], "/docs/") {
			if link[1] != "/openapi.json" {
				t.Errorf("the page loads %s", link[1])
			}
			continue
		}
		if asset := get(h, link[1], "Accept-Encoding", "gzip"); asset.Code != http.StatusOK || asset.Body.Len() == 0 {
			t.Errorf("%s: %d", link[1], asset.Code)
		}
	}
	if missing := get(h, "/docs/nothing.js", "", ""); missing.Code != http.StatusNotFound {
		t.Errorf("a file that is not there: %d", missing.Code)
	}
}
