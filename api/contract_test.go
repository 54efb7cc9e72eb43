package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/course-marketplace/backend/api"
)

// eachOperation calls check for every operation of the document.
func eachOperation(t *testing.T, check func(method, path string, item *openapi3.PathItem, o *openapi3.Operation)) {
	t.Helper()
	c, err := api.Contract()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range c.Document().Paths.Map() {
		for method, o := range item.Operations() {
			check(method, path, item, o)
		}
	}
}

func TestDocumentAndItsExamplesAreValid(t *testing.T) {
	t.Parallel()
	c, err := api.Contract()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Document().Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// The list of operations is the promise to callers: one that disappears or moves
// must be a decision, so it is written down a second time.
func TestOperationsAreThePromisedOnes(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/operations.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	eachOperation(t, func(method, path string, _ *openapi3.PathItem, o *openapi3.Operation) {
		got = append(got, fmt.Sprintf("%s %s %s", o.OperationID, method, path))
	})
	slices.Sort(got)
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(golden)), "\n"), got); diff != "" {
		t.Errorf("operations (-promised +document):\n%s", diff)
	}
}

func TestOperationsAreDescribed(t *testing.T) {
	t.Parallel()
	c, err := api.Contract()
	if err != nil {
		t.Fatal(err)
	}
	eachOperation(t, func(method, path string, item *openapi3.PathItem, o *openapi3.Operation) {
		if o.OperationID == "" || o.Summary == "" || o.Description == "" {
			t.Errorf("%s %s lacks an id, a summary or a description", method, path)
		}
		if len(o.Tags) == 0 {
			t.Errorf("%s has no tag", o.OperationID)
		}
		for _, tag := range o.Tags {
			if c.Document().Tags.Get(tag) == nil {
				t.Errorf("%s has the unknown tag %q", o.OperationID, tag)
			}
		}
		want := []string{"500", "503"}
		if o.Security == nil || len(*o.Security) == 1 {
			want = append(want, "401", "403")
		}
		if o.RequestBody != nil {
			want = append(want, "413", "415", "422")
		}
		if len(item.Parameters) > 0 || len(o.Parameters) > 0 {
			want = append(want, "422")
		}
		for _, status := range want {
			if o.Responses.Value(status) == nil {
				t.Errorf("%s does not describe %s", o.OperationID, status)
			}
		}
	})
}

func TestMalformedInputIsAnsweredAsTheDocumentMarksIt(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(_, _ string, _ *openapi3.PathItem, o *openapi3.Operation) {
		answer := o.Responses.Value("422")
		if answer == nil {
			return
		}
		_, problem := answer.Value.Content["application/problem+json"]
		_, list := answer.Value.Content["application/json"]
		switch o.Extensions["x-validation-error"] {
		case "problem":
			if list || !problem {
				t.Errorf("%s answers malformed input with a problem, but describes otherwise", o.OperationID)
			}
		case "cursor_problem":
			if !list || !problem {
				t.Errorf("%s answers both kinds of 422, but does not describe them", o.OperationID)
			}
		case nil:
			if !list {
				t.Errorf("%s answers malformed input with a list, but does not describe it", o.OperationID)
			}
		default:
			t.Errorf("%s has an unknown x-validation-error", o.OperationID)
		}
	})
}

func TestParametersFollowTheConventions(t *testing.T) {
	t.Parallel()
	creates := regexp.MustCompile(`^(create_(bounty|course|report|user)|add_agent|rotate_|grant_|purchase_|ingest_|request_publication|open_submission_pr)`)
	eachOperation(t, func(_, path string, item *openapi3.PathItem, o *openapi3.Operation) {
		parameters := slices.Concat(item.Parameters, o.Parameters)
		for _, p := range parameters {
			if p.Value.In == "path" && strings.HasSuffix(p.Value.Name, "_id") && p.Value.Schema.Value.Format != "uuid" {
				t.Errorf("%s: %s is no UUID", o.OperationID, p.Value.Name)
			}
			if p.Value.Description == "" {
				t.Errorf("%s: %s has no description", o.OperationID, p.Value.Name)
			}
		}
		if strings.Count(path, "{") > 0 && o.Responses.Value("404") == nil {
			t.Errorf("%s names something in its path but does not describe 404", o.OperationID)
		}
		if takesKey := o.Parameters.GetByInAndName("header", "Idempotency-Key") != nil; takesKey != creates.MatchString(o.OperationID) {
			t.Errorf("%s takes an Idempotency-Key: %t", o.OperationID, takesKey)
		}
	})
}

func TestGeneratedServerServesEveryOperation(t *testing.T) {
	t.Parallel()
	handler := api.Handler(api.Unimplemented{})
	eachOperation(t, func(method, path string, _ *openapi3.PathItem, o *openapi3.Operation) {
		target := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, anID)
		if o.Parameters.GetByInAndName("query", "version") != nil {
			target += "?version=1.0.0"
		}
		if o.OperationID == "complete_codehost_callback" {
			target += "?state=s"
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if w.Code != http.StatusNotImplemented {
			t.Errorf("%s is not routed: %d", o.OperationID, w.Code)
		}
	})
}

func TestResponseValidatorReportsWhatTheDocumentDoesNotDescribe(t *testing.T) {
	t.Parallel()
	const problem = `{"type":"about:blank","title":"Not Found","status":404,"detail":"d","code":"bounty_not_found","request_id":"r"}`
	tests := map[string]struct {
		target, contentType, body string
		status                    int
		want                      string // part of the report, "" for none
	}{
		"described":           {"/v1/notifications/unread-count", "application/json", `{"unread_count":3}`, 200, ""},
		"described problem":   {"/v1/bounties/" + anID, "application/problem+json", problem, 404, ""},
		"unknown path":        {"/healthz", "text/plain", "ok", 200, ""},
		"undocumented status": {"/v1/notifications/unread-count", "application/json", `{}`, 418, "does not describe this status"},
		"wrong media type":    {"/v1/notifications/unread-count", "text/plain", `3`, 200, "does not describe the media type text/plain"},
		"missing field":       {"/v1/notifications/unread-count", "application/json", `{}`, 200, "unread_count"},
		"unknown value":       {"/v1/credits", "application/json", `{"agent_id":"x"}`, 200, "agent_id"},
		"no JSON":             {"/v1/notifications/unread-count", "application/json", `{`, 200, "not JSON"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			}))
			defer server.Close()
			var reports []string
			transport, err := api.ResponseValidator(http.DefaultTransport, func(format string, args ...any) {
				reports = append(reports, fmt.Sprintf(format, args...))
			})
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&http.Client{Transport: transport}).Get(server.URL + test.target)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if content, _ := io.ReadAll(response.Body); string(content) != test.body {
				t.Errorf("the caller got %q", content)
			}
			report := strings.Join(reports, "\n")
			if (test.want == "") != (report == "") || !strings.Contains(report, test.want) {
				t.Errorf("reported %q, want %q", report, test.want)
			}
		})
	}
}
