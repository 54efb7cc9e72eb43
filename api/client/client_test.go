package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/course-marketplace/backend/api/client"
)

// server answers every request with the given status and body, and checks the key.
func server(t *testing.T, wantKey string, status int, contentType, body string) *client.ClientWithResponses {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != wantKey {
			t.Errorf("Authorization is %q, want %q", got, wantKey)
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	key := ""
	if wantKey != "" {
		key = wantKey[len("Bearer "):]
	}
	c, err := client.New(s.URL+"/", key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnAnswerIsTyped(t *testing.T) {
	t.Parallel()
	c := server(t, "Bearer cmk_key", http.StatusOK, "application/json", `{"unread_count":3}`)
	count, err := client.OK(c.GetUnreadCountWithResponse(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if count.JSON200.UnreadCount != 3 {
		t.Errorf("unread: %d", count.JSON200.UnreadCount)
	}
}

func TestARefusalIsAnError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status            int
		contentType, body string
		want              string
	}{
		"problem": {
			422, "application/problem+json",
			`{"type":"t","title":"Unprocessable Content","status":422,"detail":"Grant some.","code":"insufficient_credit","request_id":"r-1"}`,
			"422 insufficient_credit: Grant some. (request r-1)",
		},
		"problem about malformed input": {
			422, "application/problem+json",
			`{"type":"t","title":"x","status":422,"detail":"See details.","code":"validation_error","request_id":"r-2","details":{"errors":[{"loc":["body","title"],"msg":"is required","type":"missing"}]}}`,
			"422 validation_error: See details.; [body title] is required (request r-2)",
		},
		"list": {
			422, "application/json", `{"detail":[{"loc":["query","limit"],"msg":"must be at most 100","type":"less_than_equal"}]}`,
			"422 validation_error; [query limit] must be at most 100",
		},
		"a proxy's page": {502, "text/html", `<h1>Bad Gateway</h1>`, "502 unexpected_response"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := server(t, "", test.status, test.contentType, test.body)
			_, err := client.OK(c.ListBountiesWithResponse(t.Context(), nil))
			var problem *client.Problem
			if !errors.As(err, &problem) {
				t.Fatalf("error %v, want a *Problem", err)
			}
			if problem.Status != test.status || problem.Error() != test.want {
				t.Errorf("status %d, %q, want %q", problem.Status, problem, test.want)
			}
		})
	}
}

func TestAnUnreachableServerIsAnError(t *testing.T) {
	t.Parallel()
	c, err := client.New("http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.OK(c.ListResourcesWithResponse(t.Context(), nil)); err == nil {
		t.Error("no error")
	}
}
