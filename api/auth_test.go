package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

// keyRequired reads the document: a requirement, and no empty alternative to it.
func (o documentedOperation) keyRequired() bool {
	if o.Security == nil {
		return true
	}
	for _, requirement := range *o.Security {
		if len(requirement) == 0 {
			return false
		}
	}
	return len(*o.Security) > 0
}

func TestEverySecuredOperationAnswers401(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secured := 0
	for id, op := range documented(t) {
		if !op.keyRequired() {
			continue
		}
		secured++
		for name, key := range map[string]string{"no key": "", "no key at all": "nonsense", "never issued": apikey.New().Text()} {
			// The body and the ids are nonsense too: who the caller is comes first.
			path := strings.ReplaceAll(op.somePath(), "0198f0a0-5f10-7c2d-9e3f-405162738495", "nonsense")
			a := f.send(op.method, path, key, "{nonsense")
			if a.status != 401 || a.header.Get("WWW-Authenticate") != "Bearer" || !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
				t.Errorf("%s, %s: %d %s", id, name, a.status, a.body)
			}
		}
	}
	if secured < 60 {
		t.Errorf("only %d operations take a key", secured)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	active := f.db.NewAgent(t, storetest.NewAgentOptions{})
	stranger := f.db.NewAgent(t, storetest.NewAgentOptions{})
	suspended := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.db.SuspendAgent(t, suspended.ID)
	suspendedUser := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.db.SuspendUser(t, suspendedUser.UserID)
	// A secret that is not the one issued, behind a prefix that was.
	forged := apikey.New().Text()
	if _, err := f.db.Pool().Exec(t.Context(), "UPDATE api_keys SET prefix = $1 WHERE agent_id = $2", forged[:12], stranger.ID); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, authorization string
		status              int
		code                string
	}{
		{"live", "Bearer " + active.Key, 200, ""},
		{"scheme in another case", "bearer " + active.Key, 200, ""},
		{"missing", "", 401, "missing_api_key"},
		{"no scheme", active.Key, 401, "invalid_api_key"},
		{"another scheme", "Basic " + active.Key, 401, "invalid_api_key"},
		{"wrong checksum", "Bearer " + active.Key[:len(active.Key)-1] + "!", 401, "invalid_api_key"},
		{"right prefix, other secret", "Bearer " + forged, 401, "invalid_api_key"},
		{"suspended agent", "Bearer " + suspended.Key, 403, "agent_suspended"},
		{"suspended user", "Bearer " + suspendedUser.Key, 403, "user_suspended"},
	} {
		var headers []string
		if test.authorization != "" {
			headers = []string{"Authorization", test.authorization}
		}
		a := f.send("GET", "/v1/notifications/unread-count", "", nil, headers...)
		if a.status != test.status || a.code() != test.code {
			t.Errorf("%s: %d %s, want %d %s", test.name, a.status, a.body, test.status, test.code)
		}
	}
}

func TestOptionalKeyIsCheckedWhereItIsSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(f.send("GET", "/v1/courses", "", nil), 200, "")
	f.want(f.send("GET", "/v1/courses", apikey.New().Text(), nil), 401, "invalid_api_key")
}

func TestOperationsOfRolesRefuseOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.http = http.DefaultClient // what comes later answers 501, which the document leaves out
	plain := f.db.NewAgent(t, storetest.NewAgentOptions{})
	support := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}})
	reviewer := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleReviewer}})
	admin := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleAdmin}})
	for id, op := range documented(t) {
		isReview := strings.HasPrefix(op.path, "/v1/course-reviews")
		if !strings.HasPrefix(op.path, "/v1/admin/") && !isReview {
			continue
		}
		isSupport := strings.Contains(op.path, "credit") || strings.Contains(op.path, "payouts")
		for _, caller := range []struct {
			name    string
			key     string
			allowed bool
		}{
			{"plain", plain.Key, false},
			{"support", support.Key, isSupport},
			{"reviewer", reviewer.Key, isReview},
			{"admin", admin.Key, true},
		} {
			// Malformed input shows who got past the role check: 422 or 501, not 403.
			path := strings.ReplaceAll(op.somePath(), "0198f0a0-5f10-7c2d-9e3f-405162738495", "nonsense") + "?limit=0"
			a := f.send(op.method, path, caller.key, "{nonsense")
			refused := a.status == 403 && a.code() == "role_required"
			if refused == caller.allowed {
				t.Errorf("%s as %s: %d %s", id, caller.name, a.status, a.body)
			}
		}
	}
}

func TestRolesFollowTheirUserAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.want(f.send("GET", "/v1/admin/feature-flags", a.Key, nil), 403, "role_required")
	if _, err := f.db.GrantRole(t.Context(), a.UserID, market.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	f.want(f.send("GET", "/v1/admin/feature-flags", a.Key, nil), 200, "")
	if _, err := f.db.RevokeRole(t.Context(), a.UserID, market.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	f.want(f.send("GET", "/v1/admin/feature-flags", a.Key, nil), 403, "role_required")
}
