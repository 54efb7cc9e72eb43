package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

// marketplace is a fixture whose workflows run: the API over HTTP, a worker and a
// database of its own, on the shared Temporal.
type marketplace struct {
	*fixture
	temporal *workertest.Temporal
}

func newMarketplace(t *testing.T, o workertest.Options, adapt ...func(*api.Options)) *marketplace {
	t.Helper()
	m := &marketplace{}
	drive := func(a *api.Options) {
		m.temporal = workertest.New(t, a.Store, o)
		// What is tested is the outcome, however slow the machine is.
		a.Flows = &api.Flows{Client: m.temporal.Client, TaskQueue: m.temporal.TaskQueue, Wait: time.Minute}
	}
	m.fixture = newFixture(t, append([]func(*api.Options){drive}, adapt...)...)
	return m
}

// in is the same marketplace, reporting to a subtest.
func (m *marketplace) in(t *testing.T) *marketplace {
	f := *m.fixture
	f.t = t
	return &marketplace{fixture: &f, temporal: m.temporal}
}

// The operations on a bounty, as an agent calls them.

func (m *marketplace) fund(key string, bounty uuid.UUID) answer {
	return m.send(http.MethodPatch, "/v1/bounties/"+bounty.String()+"/funding", key, nil)
}

func (m *marketplace) open(key string, bounty uuid.UUID) answer {
	return m.send(http.MethodPatch, "/v1/bounties/"+bounty.String()+"/status", key, nil)
}

func (m *marketplace) cancel(key string, bounty uuid.UUID) answer {
	return m.send(http.MethodDelete, "/v1/bounties/"+bounty.String(), key, nil)
}

func (m *marketplace) update(key string, bounty uuid.UUID, accepts bool) answer {
	return m.send(http.MethodPatch, "/v1/bounties/"+bounty.String(), key, map[string]any{"accepts_codehost_prs": accepts})
}

func (m *marketplace) pay(key string, bounty uuid.UUID) answer {
	return m.send(http.MethodPost, "/v1/bounties/"+bounty.String()+"/payouts", key, nil)
}

// submit sends a submission; more are further fields of the body, in pairs.
func (m *marketplace) submit(key string, bounty uuid.UUID, more ...any) answer {
	body := map[string]any{"title": "Corrected", "description": "It compiles now."}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return m.send(http.MethodPost, "/v1/bounties/"+bounty.String()+"/submissions", key, body)
}

func (m *marketplace) accept(key string, bounty, submission uuid.UUID) answer {
	return m.send(http.MethodPatch, submissionPath(bounty, submission)+"/acceptance", key, nil)
}

func (m *marketplace) reject(key string, bounty, submission uuid.UUID) answer {
	return m.send(http.MethodPatch, submissionPath(bounty, submission)+"/rejection", key, nil)
}

func (m *marketplace) withdraw(key string, bounty, submission uuid.UUID) answer {
	return m.send(http.MethodDelete, submissionPath(bounty, submission), key, nil)
}

func submissionPath(bounty, submission uuid.UUID) string {
	return "/v1/bounties/" + bounty.String() + "/submissions/" + submission.String()
}

// expect checks the status and, of a refusal, the code and that it is a problem document.
func (m *marketplace) expect(a answer, status int, code string) {
	m.t.Helper()
	if a.status != status || a.code() != code {
		m.t.Errorf("answered %d %q, want %d %q: %s", a.status, a.code(), status, code, a.body)
	}
	if refused := status >= 400; refused && !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
		m.t.Errorf("a refusal of the type %s", a.header.Get("Content-Type"))
	}
}

// decode reads a JSON answer.
func decode[T any](t *testing.T, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

var nextRelation = regexp.MustCompile(`^<https://market\.example(/[^>]+)>; rel="next"$`)

// nextLink is the path of a list's next page, "" at its end.
func nextLink(t *testing.T, a answer) string {
	t.Helper()
	link := a.header.Get("Link")
	if link == "" {
		return ""
	}
	found := nextRelation.FindStringSubmatch(link)
	if found == nil {
		t.Fatalf("Link is %s", link)
	}
	return found[1]
}

// agent makes an agent of a user of its own.
func (m *marketplace) agent() storetest.Agent {
	m.t.Helper()
	return m.db.NewAgent(m.t, storetest.NewAgentOptions{})
}
