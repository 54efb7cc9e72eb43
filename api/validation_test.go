package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/internal/contract"
	"github.com/course-marketplace/backend/internal/market"
)

const anID = "0198f0a2-6f3c-7c11-9a52-3d1f6f0a7b10"

// recorder stands for the handlers: it keeps what validation let through. An
// operation it does not have panics, which fails the test that called it.
type recorder struct {
	api.StrictServerInterface
	got any
}

func (s *recorder) CreateBounty(_ context.Context, r api.CreateBountyRequestObject) (api.CreateBountyResponseObject, error) {
	s.got = *r.Body
	return api.CreateBounty201JSONResponse{}, nil
}

func (s *recorder) ListBounties(_ context.Context, r api.ListBountiesRequestObject) (api.ListBountiesResponseObject, error) {
	s.got = r.Params
	return api.ListBounties200JSONResponse{}, nil
}

func (s *recorder) GetBounty(_ context.Context, r api.GetBountyRequestObject) (api.GetBountyResponseObject, error) {
	s.got = r.BountyID
	return api.GetBounty200JSONResponse{}, nil
}

func (s *recorder) CreateUserWithAgent(_ context.Context, r api.CreateUserWithAgentRequestObject) (api.CreateUserWithAgentResponseObject, error) {
	s.got = *r.Body
	return api.CreateUserWithAgent201JSONResponse{}, nil
}

func (s *recorder) CreateBountySubmission(_ context.Context, r api.CreateBountySubmissionRequestObject) (api.CreateBountySubmissionResponseObject, error) {
	s.got = *r.Body
	return api.CreateBountySubmission201JSONResponse{}, nil
}

func (s *recorder) BeginCodehostAuthorization(_ context.Context, r api.BeginCodehostAuthorizationRequestObject) (api.BeginCodehostAuthorizationResponseObject, error) {
	s.got = *r.Body
	return api.BeginCodehostAuthorization200JSONResponse{}, nil
}

func (s *recorder) RejectHumanReview(_ context.Context, r api.RejectHumanReviewRequestObject) (api.RejectHumanReviewResponseObject, error) {
	s.got = *r.Body
	return api.RejectHumanReview200JSONResponse{}, nil
}

func (s *recorder) ListNotifications(_ context.Context, r api.ListNotificationsRequestObject) (api.ListNotificationsResponseObject, error) {
	s.got = r.Params
	return api.ListNotifications200JSONResponse{}, nil
}

func (s *recorder) IngestCatalogEntries(_ context.Context, r api.IngestCatalogEntriesRequestObject) (api.IngestCatalogEntriesResponseObject, error) {
	s.got = *r.Body
	return api.IngestCatalogEntries200JSONResponse{}, nil
}

func (s *recorder) CreateCourseVersion(_ context.Context, r api.CreateCourseVersionRequestObject) (api.CreateCourseVersionResponseObject, error) {
	content, err := io.ReadAll(r.Body)
	s.got = fmt.Sprintf("%s %s %d", r.Params.Version, r.ContentType, len(content))
	return api.CreateCourseVersion201JSONResponse{}, err
}

// send passes one request through validation and binding. It returns what a
// handler received, or the refusal.
func send(t *testing.T, r *http.Request) (got any, refusal error) {
	t.Helper()
	keep := func(_ http.ResponseWriter, _ *http.Request, err error) { refusal = err }
	validate, err := api.ValidateRequests(keep)
	if err != nil {
		t.Fatal(err)
	}
	handlers := &recorder{}
	router := chi.NewRouter()
	api.HandlerWithOptions(
		api.NewStrictHandlerWithOptions(handlers, nil, api.StrictHTTPServerOptions{
			RequestErrorHandlerFunc:  func(w http.ResponseWriter, r *http.Request, err error) { keep(w, r, api.BindingError(err)) },
			ResponseErrorHandlerFunc: keep,
		}),
		api.ChiServerOptions{
			BaseRouter:       router.With(validate),
			ErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) { keep(w, r, api.BindingError(err)) },
		})
	router.ServeHTTP(httptest.NewRecorder(), r)
	return handlers.got, refusal
}

func request(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// problems lists a refusal's fields as "loc type: msg".
func problems(t *testing.T, err error) []string {
	t.Helper()
	var invalid *market.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("refusal is %v, want an InvalidError", err)
	}
	var all []string
	for _, f := range invalid.Fields {
		all = append(all, fmt.Sprintf("%s %s: %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Loc), " ", "."), "[]"), f.Type, f.Msg))
	}
	return all
}

func TestMalformedRequestsListEveryProblem(t *testing.T) {
	t.Parallel()
	const bounties, users = "/v1/bounties", "/v1/identity/users"
	tests := map[string]struct {
		method, target, body string
		want                 []string
	}{
		"required fields are missing": {"POST", bounties, `{}`, []string{
			"body.course_id missing: is required",
			"body.description missing: is required",
			"body.reward_amount_cents missing: is required",
			"body.title missing: is required",
		}},
		"wrong types": {"POST", bounties, `{"course_id":7,"title":null,"description":["x"],"reward_amount_cents":1.5,"accepts_codehost_prs":"yes"}`, []string{
			"body.accepts_codehost_prs type_error: must be a boolean",
			"body.course_id type_error: must be a string",
			"body.description type_error: must be a string",
			"body.reward_amount_cents type_error: must be an integer",
			"body.title type_error: must be a string",
		}},
		"bounds and formats": {"POST", bounties, `{"course_id":"no","title":"","description":"d","reward_amount_cents":0,"submission_deadline":"tomorrow"}`, []string{
			"body.course_id uuid_parsing: must be a UUID",
			"body.reward_amount_cents greater_than_equal: must be at least 1",
			"body.submission_deadline datetime_parsing: must be a date-time such as 2027-01-31T12:00:00Z",
			"body.title string_too_short: must not be empty",
		}},
		"an amount beyond the limit": {"POST", bounties, `{"course_id":"` + anID + `","title":"t","description":"d","reward_amount_cents":1000000000001}`, []string{
			"body.reward_amount_cents less_than_equal: must be at most 1000000000000",
		}},
		"a title in characters, not bytes": {"POST", bounties, `{"course_id":"` + anID + `","title":"` + strings.Repeat("é", 201) + `","description":"d","reward_amount_cents":100}`, []string{
			"body.title string_too_long: must be at most 200 characters",
		}},
		"path, query and header together": {"GET", bounties + "?scope=all&limit=0&cursor=" + strings.Repeat("c", 1025), "", []string{
			"query.scope enum: must be one of open, mine, submitted",
			"query.limit greater_than_equal: must be at least 1",
			"query.cursor string_too_long: must be at most 1024 characters",
		}},
		"limit above":        {"GET", bounties + "?limit=101", "", []string{"query.limit less_than_equal: must be at most 100"}},
		"limit is no number": {"GET", bounties + "?limit=ten", "", []string{"query.limit int_parsing: must be a whole number"}},
		"limit overflows":    {"GET", bounties + "?limit=99999999999999999999", "", []string{"query.limit int_parsing: must be a whole number"}},
		"limit twice":        {"GET", bounties + "?limit=1&limit=2", "", []string{"query.limit too_many_values: may be given once only"}},
		"broken query":       {"GET", bounties + "?limit=%zz", "", []string{"query query_invalid: is not a valid query string"}},
		"NUL in a query":     {"GET", bounties + "?cursor=a%00b", "", []string{"query.cursor string_nul: must not contain a NUL character"}},
		"no UTF-8 in a query": {"GET", bounties + "?cursor=%ff", "", []string{
			"query.cursor string_unicode: must be valid UTF-8",
		}},
		"flag":        {"GET", "/v1/notifications?unread_only=maybe", "", []string{"query.unread_only bool_parsing: must be true or false"}},
		"path":        {"GET", bounties + "/42", "", []string{"path.bounty_id uuid_parsing: must be a UUID"}},
		"UUID as URN": {"GET", bounties + "/urn:uuid:" + anID, "", []string{"path.bounty_id uuid_parsing: must be a UUID"}},
		"path and body": {"POST", bounties + "/42/submissions", `{"title":"t"}`, []string{
			"path.bounty_id uuid_parsing: must be a UUID",
			"body.description missing: is required",
		}},
		"secrets are not repeated": {"POST", users, `{"agent_name":"a","email":"nobody","user_password":"hunter2"}`, []string{
			"body.email email: must be an e-mail address",
			"body.user_password string_too_short: must be at least 8 characters",
		}},
		"e-mail with a name": {"POST", users, `{"agent_name":"a","email":"A <a@b.org>","user_password":"hunter2hunter2"}`, []string{"body.email email: must be an e-mail address"}},
		"nullable enumeration": {"PATCH", "/v1/course-reviews/" + anID + "/rejection", `{"decision_reason":"r","reviewer_notes":"n","capability_reason_code":"because"}`, []string{
			"body.capability_reason_code enum: must be one of network_domain_not_declared, network_wildcard_declared, " +
				"filesystem_read_path_not_declared, filesystem_write_path_not_declared, shell_command_not_declared, " +
				"env_variable_not_declared, mcp_server_not_declared, package_not_declared, tool_not_declared, " +
				"capabilities_not_declared, capability_not_observed",
		}},
		"patterns": {"POST", "/v1/courses", `{"title":"t","slug":"No Slug","codehost_repository":"name"}`, []string{
			"body.codehost_repository string_pattern: must match ^[A-Za-z0-9](-?[A-Za-z0-9])*/[A-Za-z0-9._-]+$",
			"body.slug string_pattern: must match ^[a-z0-9]+(-[a-z0-9]+)*$",
		}},
		"no body":          {"POST", bounties, "", []string{"body missing: is required"}},
		"not an object":    {"POST", bounties, `[]`, []string{"body type_error: must be an object"}},
		"not JSON":         {"POST", bounties, "{\n \"title\": oops}", []string{"body json_invalid: is not valid JSON at line 2, column 11"}},
		"unfinished JSON":  {"POST", bounties, `{"title":`, []string{"body json_invalid: is not complete JSON"}},
		"trailing garbage": {"POST", bounties, `{} {}`, []string{"body json_invalid: has more after the JSON value"}},
		"no UTF-8":         {"POST", bounties, "{\"title\":\"\xff\"}", []string{"body json_invalid: must be valid UTF-8"}},
		"NUL, anywhere": {"POST", bounties + "/" + anID + "/submissions", `{"title":"a\u0000","description":"d","evidence":{"list":[{"x":"\u0000"}]}}`, []string{
			"body.evidence.list.0.x string_nul: must not contain a NUL character",
			"body.title string_nul: must not contain a NUL character",
		}},
		"a number too large to store": {"POST", bounties + "/" + anID + "/submissions", `{"title":"a","description":"d","evidence":{"n":1e999999999}}`, []string{
			"body.evidence.n number_out_of_range: must be a number that fits a 64-bit float",
		}},
		"a number too small to store": {"POST", bounties + "/" + anID + "/submissions", `{"title":"a","description":"d","evidence":{"n":1e-999999999}}`, []string{
			"body.evidence.n number_out_of_range: must be a number that fits a 64-bit float",
		}},
		"too deep": {"POST", bounties + "/" + anID + "/submissions", `{"title":"a","description":"d","evidence":{"n":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, []string{
			"body json_too_deep: must not nest deeper than 64 levels",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, refusal := send(t, request(test.method, test.target, test.body))
			if got != nil {
				t.Errorf("the handler was called with %v", got)
			}
			if diff := cmp.Diff(test.want, problems(t, refusal)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(refusal), "hunter2") {
				t.Errorf("the refusal repeats the password: %v", refusal)
			}
		})
	}
}

func TestHeadersAreChecked(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                       "header.Idempotency-Key string_too_short: must not be empty",
		strings.Repeat("k", 256): "header.Idempotency-Key string_too_long: must be at most 255 characters",
	} {
		r := request("POST", "/v1/bounties", `{"course_id":"`+anID+`","title":"t","description":"d","reward_amount_cents":100}`)
		r.Header.Set("Idempotency-Key", value)
		_, refusal := send(t, r)
		if diff := cmp.Diff([]string{want}, problems(t, refusal)); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
}

func TestBodiesRefusedAsSuch(t *testing.T) {
	t.Parallel()
	withType := func(target, mediaType, body string) *http.Request {
		r := request("POST", target, body)
		r.Header.Set("Content-Type", mediaType)
		return r
	}
	compressed := request("POST", "/v1/bounties", `{}`)
	compressed.Header.Set("Content-Encoding", "gzip")
	tests := map[string]struct {
		request *http.Request
		kind    market.Kind
		code    string
	}{
		"form":          {withType("/v1/bounties", "application/x-www-form-urlencoded", `a=b`), market.KindUnsupported, "unsupported_media_type"},
		"no media type": {withType("/v1/bounties", "", `{}`), market.KindUnsupported, "unsupported_media_type"},
		"charset":       {withType("/v1/bounties", "application/json; charset=latin1", `{}`), market.KindUnsupported, "unsupported_media_type"},
		"compressed":    {compressed, market.KindUnsupported, "unsupported_media_type"},
		"JSON archive":  {withType("/v1/courses/"+anID+"/versions?version=1.0.0", "application/json", `{}`), market.KindUnsupported, "unsupported_media_type"},
		"too large":     {request("POST", "/v1/bounties", `"`+strings.Repeat("a", contract.MaxBody)+`"`), market.KindTooLarge, "body_too_large"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, refusal := send(t, test.request)
			refused, ok := market.AsError(refusal)
			if !ok || refused.Kind != test.kind || refused.Code != test.code {
				t.Errorf("refusal %v, want %s", refusal, test.code)
			}
		})
	}
}

func TestHandlersReceiveWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	upload := request("POST", "/v1/courses/"+anID+"/versions?version=1.2.0-rc.1", strings.Repeat("z", 3<<20))
	upload.Header.Set("Content-Type", "application/gzip")
	tests := map[string]struct {
		request *http.Request
		want    string
	}{
		"defaults are filled in": {
			request("POST", "/v1/bounties", `{"course_id":"`+anID+`","title":"t","description":"d","reward_amount_cents":100}`),
			`{"accepts_codehost_prs":true,"course_id":"` + anID + `","currency":"USD_CREDIT","description":"d","reward_amount_cents":100,"title":"t"}`,
		},
		"given values win over defaults, null is a value": {
			request("POST", "/v1/bounties", `{"course_id":"`+anID+`","title":"t","description":"d","reward_amount_cents":100,"accepts_codehost_prs":false,"currency":"EUR","submission_deadline":null}`),
			`{"accepts_codehost_prs":false,"course_id":"` + anID + `","currency":"EUR","description":"d","reward_amount_cents":100,"title":"t"}`,
		},
		"integers may be written with an exponent": {
			request("POST", "/v1/bounties", `{"course_id":"`+anID+`","title":"t","description":"d","reward_amount_cents":1.5e3}`),
			`{"accepts_codehost_prs":true,"course_id":"` + anID + `","currency":"USD_CREDIT","description":"d","reward_amount_cents":1500,"title":"t"}`,
		},
		"unknown fields are ignored, also in another case": {
			request("POST", "/v1/bounties", `{"course_id":"`+anID+`","title":"t","description":"d","reward_amount_cents":100,"TITLE":"","x":1}`),
			`{"accepts_codehost_prs":true,"course_id":"` + anID + `","currency":"USD_CREDIT","description":"d","reward_amount_cents":100,"title":"t"}`,
		},
		"an optional body may be absent": {
			request("POST", "/v1/identity/codehost/authorize", ""),
			`{"scope_tier":"identity"}`,
		},
		"free-form objects stay as they are": {
			request("POST", "/v1/bounties/"+anID+"/submissions", `{"title":"t","description":"d","evidence":{"big":12345678901234567890,"html":"<b>"}}`),
			`{"description":"d","evidence":{"big":12345678901234567000,"html":"\u003cb\u003e"},"title":"t"}`,
		},
		"catalog entries are not judged": {
			request("POST", "/v1/resources:ingest-catalog", `{"source_uri":"https://example.org","entries":[7,{"identifier":1}]}`),
			`{"entries":[7,{"identifier":1}],"source_kind":"ai_catalog_entry","source_uri":"https://example.org"}`,
		},
		"query values": {
			request("GET", "/v1/notifications?unread_only=true&type=bounty.funded&limit=100", ""),
			`{"unread_only":true,"type":"bounty.funded","limit":100}`,
		},
		"path values": {request("GET", "/v1/bounties/"+anID, ""), `"` + anID + `"`},
		"archives are streamed, whatever their size": {upload, `"1.2.0-rc.1 application/gzip 3145728"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, refusal := send(t, test.request)
			if refusal != nil {
				t.Fatalf("refused: %v", refusal)
			}
			encoded, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(encoded)); diff != "" {
				t.Errorf("the handler received (-want +got):\n%s", diff)
			}
		})
	}
}
