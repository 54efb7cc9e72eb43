package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

const idempotencyKey = "Idempotency-Key"

// firstID finds the id of the record of an answer with a user or an agent.
var firstID = regexp.MustCompile(`"id":"[0-9a-f-]{36}"`)

func TestSameKeySameRequestGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := signup("ada@example.com")
	first := f.want(f.send("POST", "/v1/identity/users", "", body, idempotencyKey, "k1"), 201, "")
	if first.header.Get("Idempotency-Replayed") != "" {
		t.Error("the first answer says it was replayed")
	}
	// The same object written in another way is the same request.
	again := f.want(f.send("POST", "/v1/identity/users", "",
		`{ "user_password":"correct horse battery", "agent_name":"ada-writer", "email":"ada@example.com", "unknown": 1 }`, idempotencyKey, "k1"), 201, "")
	if again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
		t.Errorf("headers of the replay: %v", again.header)
	}
	if diff := cmp.Diff(string(first.body), string(again.body)); diff != "" {
		t.Errorf("the replay differs: %s", diff)
	}
	f.want(f.send("POST", "/v1/identity/users", "", signup("eve@example.com"), idempotencyKey, "k1"), 422, "idempotency_key_reused")
	f.want(f.send("POST", "/v1/identity/users", "", signup("ada@example.com", "user_password", "another password"), idempotencyKey, "k1"), 422, "idempotency_key_reused")
	f.want(f.send("POST", "/v1/identity/users", "", signup("eve@example.com"), idempotencyKey, "k2"), 201, "")
}

func TestKeysBelongToTheirAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.db.NewAgent(t, storetest.NewAgentOptions{}), f.db.NewAgent(t, storetest.NewAgentOptions{})
	body := map[string]any{"title": "Practical Go"}
	first := f.want(f.send("POST", "/v1/courses", a.Key, body, idempotencyKey, "k"), 201, "")
	second := f.want(f.send("POST", "/v1/courses", b.Key, body, idempotencyKey, "k"), 201, "")
	if first.value("id") == second.value("id") {
		t.Error("an agent was given another agent's answer")
	}
}

func TestARefusedRequestMayBeTriedAgainWithItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	body := map[string]any{"title": "Practical Go", "slug": "go"}
	taken := f.want(f.send("POST", "/v1/courses", f.db.NewAgent(t, storetest.NewAgentOptions{}).Key, body), 201, "")
	f.want(f.send("POST", "/v1/courses", a.Key, body, idempotencyKey, "k"), 409, "slug_taken")
	if _, err := f.db.Pool().Exec(t.Context(), "UPDATE courses SET slug = 'old' WHERE id = $1", taken.value("id")); err != nil {
		t.Fatal(err)
	}
	f.want(f.send("POST", "/v1/courses", a.Key, body, idempotencyKey, "k"), 201, "")
}

func TestMalformedRequestsDoNotUseUpTheKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.want(f.send("POST", "/v1/courses", a.Key, map[string]any{}, idempotencyKey, "k"), 422, "validation_error")
	f.want(f.send("POST", "/v1/courses", a.Key, map[string]any{"title": "Go"}, idempotencyKey, "k"), 201, "")
	f.want(f.send("POST", "/v1/courses", a.Key, map[string]any{"title": "Go"}, idempotencyKey, strings.Repeat("k", 256)), 422, "validation_error")
}

func TestTwentyRequestsWithOneKeyMakeOneThing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wg sync.WaitGroup
	ids := make(chan string, 20)
	for range cap(ids) {
		wg.Go(func() {
			for {
				a := f.send("POST", "/v1/identity/users", "", signup("ada@example.com"), idempotencyKey, "race")
				switch {
				case a.status == 201:
					ids <- fmt.Sprint(string(a.body))
					return
				case a.status == http.StatusConflict && a.code() == "idempotency_key_in_progress" && a.header.Get("Retry-After") != "":
				default:
					t.Errorf("%d %s", a.status, a.body)
					return
				}
			}
		})
	}
	wg.Wait()
	close(ids)
	distinct := map[string]bool{}
	for id := range ids {
		distinct[id] = true
	}
	if len(distinct) != 1 || f.count("SELECT count(*) FROM users") != 1 {
		t.Errorf("%d different answers, %d users", len(distinct), f.count("SELECT count(*) FROM users"))
	}
}

// loseAnswer makes it as if the process had died after the work was committed and
// before its answer was kept.
func (f *fixture) loseAnswer(key string) {
	f.t.Helper()
	tag, err := f.db.Pool().Exec(f.t.Context(),
		"UPDATE idempotency_keys SET status = NULL, headers = NULL, body = NULL, locked_until = now() WHERE key = $1", key)
	if err != nil || tag.RowsAffected() != 1 {
		f.t.Fatalf("lose the answer of %s: %v, %v", key, tag, err)
	}
}

func TestAKeyIsTakenOverAfterACrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.db.NewAgent(t, storetest.NewAgentOptions{})
	support := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}})
	for _, test := range []struct {
		name, path, key string
		body            any
		table           string
		id              func(answer) string
	}{
		{"user", "/v1/identity/users", "", signup("ada@example.com"), "users", func(a answer) string { return firstID.FindString(string(a.body)) }},
		{"agent", "/v1/identity/users/" + owner.UserID.String() + "/agents", "",
			map[string]any{"agent_name": "second", "user_password": storetest.Password}, "agents", func(a answer) string { return firstID.FindString(string(a.body)) }},
		{"course", "/v1/courses", owner.Key, map[string]any{"title": "Practical Go"}, "courses", func(a answer) string { return a.value("id") }},
		{"grant", "/v1/admin/credits/grants", support.Key,
			map[string]any{"agent_id": owner.ID, "amount_cents": 500, "reason": "Welcome"}, "ledger_transactions", func(a answer) string { return a.value("transaction_id") }},
	} {
		first := f.want(f.send("POST", test.path, test.key, test.body, idempotencyKey, test.name), 201, "")
		before := f.count("SELECT count(*) FROM " + test.table)
		f.loseAnswer(test.name)
		again := f.want(f.send("POST", test.path, test.key, test.body, idempotencyKey, test.name), 201, "")
		if again.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: replayed what was lost", test.name)
		}
		if test.id(first) == "" || test.id(first) != test.id(again) || f.count("SELECT count(*) FROM "+test.table) != before {
			t.Errorf("%s: another thing was made:\n%s\n%s", test.name, first.body, again.body)
		}
		if key := again.value("api_key"); key != "" {
			f.want(f.send("GET", "/v1/credits", key, nil), 200, "")
			f.want(f.send("GET", "/v1/credits", first.value("api_key"), nil), 401, "invalid_api_key")
		}
	}
	if n := f.count("SELECT balance_cents FROM ledger_accounts WHERE owner_id = $1 AND kind = 'agent.available'", owner.ID); n != 500 {
		t.Errorf("the grant was made twice: %d cents", n)
	}
}

func TestKeptAnswersAndFingerprintsAreSealed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	made := f.want(f.send("POST", "/v1/identity/users", "", signup("ada@example.com"), idempotencyKey, "k"), 201, "")
	var row string
	if err := f.db.Pool().QueryRow(t.Context(), "SELECT k::text || encode(body, 'escape') || encode(fingerprint, 'escape') FROM idempotency_keys k").Scan(&row); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{made.value("api_key"), "correct horse", "ada@example.com"} {
		if strings.Contains(row, secret) {
			t.Errorf("the kept answer shows %q", secret)
		}
	}
}

func TestExpiredKeysAreFreeAndSwept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	expire := func() {
		if _, err := f.db.Pool().Exec(t.Context(), "UPDATE idempotency_keys SET expires_at = now()"); err != nil {
			t.Fatal(err)
		}
	}
	first := f.want(f.send("POST", "/v1/courses", a.Key, map[string]any{"title": "One"}, idempotencyKey, "k"), 201, "")
	expire()
	second := f.want(f.send("POST", "/v1/courses", a.Key, map[string]any{"title": "Two"}, idempotencyKey, "k"), 201, "")
	if first.value("id") == second.value("id") {
		t.Error("an expired key gave its old thing")
	}
	expire()
	if n, err := f.db.Sweep(t.Context()); err != nil || n != 1 || f.count("SELECT count(*) FROM idempotency_keys") != 0 {
		t.Errorf("Sweep = %d, %v", n, err)
	}
}
