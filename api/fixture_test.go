package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/seal"
	"github.com/course-marketplace/backend/store/storetest"
)

// fixture is a server on a database of its own. Every answer it gives is held against
// the OpenAPI document.
type fixture struct {
	t      *testing.T
	db     *storetest.DB
	server *api.Server
	url    string
	http   *http.Client
	log    *lockedWriter
}

func newFixture(t *testing.T, adapt ...func(*api.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, db: storetest.New(t), log: &lockedWriter{}}
	options := api.Options{
		Store: f.db.Store, Sealer: newSealer(t), Passwords: storetest.Passwords(),
		Logger: slog.New(slog.NewTextHandler(f.log, nil)), PublicURL: "https://market.example",
	}
	for _, change := range adapt {
		change(&options)
	}
	var err error
	if f.server, err = api.New(options); err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(f.server.Handler())
	t.Cleanup(listening.Close)
	transport, err := api.ResponseValidator(listening.Client().Transport, t.Errorf)
	if err != nil {
		t.Fatal(err)
	}
	f.url, f.http = listening.URL, &http.Client{Transport: transport}
	return f
}

func newSealer(t *testing.T) *seal.Sealer {
	t.Helper()
	keyset, err := seal.NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New(keyset)
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

// client returns a typed client that acts with the key.
func (f *fixture) client(key string) *client.ClientWithResponses {
	f.t.Helper()
	c, err := client.New(f.url, key, client.WithHTTPClient(f.http))
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// code is the code of a problem; "validation_error" of an HTTPValidationError.
func (a answer) code() string {
	var problem struct {
		Code   string `json:"code"`
		Detail any    `json:"detail"`
	}
	_ = json.Unmarshal(a.body, &problem)
	if _, list := problem.Detail.([]any); list {
		return "validation_error"
	}
	return problem.Code
}

// value is a string at the top level of the body.
func (a answer) value(name string) string {
	var all map[string]any
	_ = json.Unmarshal(a.body, &all)
	text, _ := all[name].(string)
	return text
}

// send sends a request. The body is encoded as JSON unless it is a string, which is
// sent as it is. Headers come in pairs.
func (f *fixture) send(method, path, key string, body any, headers ...string) answer {
	f.t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = bytes.NewReader([]byte(b))
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			f.t.Fatal(err)
		}
		content = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, content)
	if err != nil {
		f.t.Fatal(err)
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := f.http.Do(r)
	if err != nil {
		f.t.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Errorf("%s %s: %v", method, path, err)
	}
	return answer{response.StatusCode, response.Header, read}
}

// want fails the test unless the answer has the status and, if one is given, the code.
func (f *fixture) want(a answer, status int, code string) answer {
	f.t.Helper()
	if a.status != status || code != "" && a.code() != code {
		f.t.Fatalf("answered %d %s, want %d %s: %s", a.status, a.code(), status, code, a.body)
	}
	return a
}

// count counts the rows that a query finds.
func (f *fixture) count(query string, args ...any) int {
	f.t.Helper()
	var n int
	if err := f.db.Pool().QueryRow(f.t.Context(), query, args...).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// documentedOperation is an operation of the document and its route.
type documentedOperation struct {
	*openapi3.Operation
	method, path string
}

// documented lists every operation of the document.
func documented(t *testing.T) map[string]documentedOperation {
	t.Helper()
	contract, err := api.Contract()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]documentedOperation{}
	for path, item := range contract.Document().Paths.Map() {
		for method, op := range item.Operations() {
			all[op.OperationID] = documentedOperation{op, method, path}
		}
	}
	return all
}

// somePath is the operation's path with made-up ids.
func (o documentedOperation) somePath() string {
	return pathVariable.ReplaceAllString(o.path, "0198f0a0-5f10-7c2d-9e3f-405162738495")
}

var pathVariable = regexp.MustCompile(`\{[a-z_]+\}`)

// lockedWriter lets handlers log at once.
type lockedWriter struct {
	mu sync.Mutex
	w  bytes.Buffer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func (l *lockedWriter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.String()
}
