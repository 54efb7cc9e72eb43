package api_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

func signup(email string, more ...any) map[string]any {
	body := map[string]any{"email": email, "user_password": "correct horse battery", "agent_name": "ada-writer"}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	name := "Ada"
	made, err := client.OK(f.client("").CreateUserWithAgentWithResponse(t.Context(), nil, client.CreateUserWithAgentRequest{
		Email: "Ada@Example.org", UserPassword: "correct horse battery", AgentName: " writer ", UserName: &name,
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := made.JSON201
	if got.User.Email != "Ada@Example.org" || *got.User.Name != "Ada" || got.Agent.Name != "writer" || got.Agent.UserID != got.User.ID {
		t.Errorf("unexpected record: %s", made.Body)
	}
	if !regexp.MustCompile(`^cmk_[0-9A-Za-z]{8}_[0-9A-Za-z]{40}_[0-9A-Za-z]{6}$`).MatchString(got.APIKey) || !strings.HasPrefix(got.APIKey, got.APIKeyPrefix+"_") {
		t.Errorf("key %q with prefix %q", got.APIKey, got.APIKeyPrefix)
	}
	if _, err := client.OK(f.client(got.APIKey).GetCreditBalanceWithResponse(t.Context())); err != nil {
		t.Errorf("the new key does not work: %v", err)
	}
	if n := f.count("SELECT count(*) FROM users WHERE password_hash LIKE '%correct horse%'"); n != 0 {
		t.Error("the password is kept in clear")
	}
	if strings.Contains(f.log.String(), "correct horse") || strings.Contains(f.log.String(), got.APIKey) {
		t.Error("the log holds a secret")
	}
}

func TestSignUpRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path = "/v1/identity/users"
	f.want(f.send("POST", path, "", signup("ada@gmail.com")), 201, "")
	var code string
	if err := f.db.Pool().QueryRow(t.Context(), "SELECT code FROM referral_codes").Scan(&code); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		body   any
		status int
		code   string
	}{
		{"taken e-mail", signup("ada@gmail.com"), 409, "email_taken"},
		{"taken e-mail in another case", signup("ADA@gmail.com"), 409, "email_taken"},
		{"no e-mail address", signup("ada"), 422, "validation_error"},
		{"display name", signup("Ada <ada@example.com>"), 422, "validation_error"},
		{"short password", signup("b@example.com", "user_password", "1234567"), 422, "validation_error"},
		{"long password", signup("b@example.com", "user_password", strings.Repeat("x", 256)), 422, "validation_error"},
		{"empty agent name", signup("b@example.com", "agent_name", ""), 422, "validation_error"},
		{"blank agent name", signup("b@example.com", "agent_name", "  "), 422, "validation_error"},
		{"long agent name", signup("b@example.com", "agent_name", strings.Repeat("x", 256)), 422, "validation_error"},
		{"NUL in the name", signup("b@example.com", "agent_name", "a\x00b"), 422, "validation_error"},
		{"no body", nil, 422, "validation_error"},
		{"no JSON", "{", 422, "validation_error"},
		{"unknown referral code", signup("b@example.com", "referral_code", "NOSUCHCODE"), 422, "referral_code_unknown"},
		{"own referral code by a tag", signup("a.d.a+2@googlemail.com", "referral_code", code), 422, "self_referral"},
	} {
		a := f.send("POST", path, "", test.body)
		if a.status != test.status || a.code() != test.code {
			t.Errorf("%s: %d %s, want %d %s: %s", test.name, a.status, a.code(), test.status, test.code, a.body)
		}
	}
	if n := f.count("SELECT count(*) FROM users"); n != 1 {
		t.Errorf("%d users were made", n)
	}
}

func TestSignUpListsEveryProblem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.want(f.send("POST", "/v1/identity/users", "", map[string]any{"email": "x", "user_password": "short"}), 422, "validation_error")
	for _, field := range []string{"agent_name", "email", "user_password"} {
		if !strings.Contains(string(a.body), `"`+field+`"`) {
			t.Errorf("no problem is listed for %s: %s", field, a.body)
		}
	}
}

func TestReferredSignUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *api.Options) {
		o.Limits.Referrals.PerCode = store.Limit{Max: 2, Period: api.DefaultLimits().Referrals.PerCode.Period}
	})
	referrer := f.db.NewAgent(t, storetest.NewAgentOptions{})
	var code string
	if err := f.db.Pool().QueryRow(t.Context(), "SELECT code FROM referral_codes WHERE user_id = $1", referrer.UserID).Scan(&code); err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"b@example.com", "c@example.com"} {
		f.want(f.send("POST", "/v1/identity/users", "", signup(email, "referral_code", " "+strings.ToLower(code))), 201, "")
	}
	f.want(f.send("POST", "/v1/identity/users", "", signup("d@example.com", "referral_code", code)), 422, "abusive_referral")
	f.want(f.send("POST", "/v1/identity/users", "", signup("d@example.com")), 201, "")

	inbox, err := client.OK(f.client(referrer.Key).ListNotificationsWithResponse(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(inbox.JSON200.Items); n != 2 || inbox.JSON200.Items[0].Type != "referral.attributed" {
		t.Errorf("the referrer has %d notifications: %s", n, inbox.Body)
	}
	if n := f.count("SELECT count(*) FROM referral_attributions WHERE referrer_user_id = $1 AND status = 'pending'", referrer.UserID); n != 2 {
		t.Errorf("%d attributions", n)
	}
}

func TestAddAgentAndRotate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.db.NewAgent(t, storetest.NewAgentOptions{Name: "first"})
	other := f.db.NewAgent(t, storetest.NewAgentOptions{})
	suspendedUser := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.db.SuspendUser(t, suspendedUser.UserID)
	suspendedAgent := f.db.NewAgent(t, storetest.NewAgentOptions{UserID: owner.UserID, Name: "idle"})
	f.db.SuspendAgent(t, suspendedAgent.ID)
	nobody := uuid.NewString()
	agents := func(user string) string { return "/v1/identity/users/" + user + "/agents" }
	keys := func(user, agent string) string { return agents(user) + "/" + agent + "/api-keys" }
	add := map[string]any{"agent_name": "second", "user_password": storetest.Password}
	with := func(password string) map[string]any { return map[string]any{"user_password": password} }

	for _, test := range []struct {
		name, path string
		body       any
		status     int
		code       string
	}{
		{"add", agents(owner.UserID.String()), add, 201, ""},
		{"add a taken name", agents(owner.UserID.String()), map[string]any{"agent_name": "SECOND", "user_password": storetest.Password}, 409, "agent_name_taken"},
		{"add a name another user has", agents(other.UserID.String()), map[string]any{"agent_name": "first", "user_password": storetest.Password}, 201, ""},
		{"add, wrong password", agents(owner.UserID.String()), map[string]any{"agent_name": "third", "user_password": "wrong horse"}, 401, "invalid_credentials"},
		{"add, unknown user", agents(nobody), add, 401, "invalid_credentials"},
		{"add, suspended user", agents(suspendedUser.UserID.String()), add, 403, "user_suspended"},
		{"add, suspended user, wrong password", agents(suspendedUser.UserID.String()), map[string]any{"agent_name": "x", "user_password": "wrong horse"}, 401, "invalid_credentials"},
		{"add, blank name", agents(owner.UserID.String()), map[string]any{"agent_name": " ", "user_password": storetest.Password}, 422, "validation_error"},
		{"add, no uuid", agents("me"), add, 422, "validation_error"},
		{"rotate, wrong password", keys(owner.UserID.String(), owner.ID.String()), with("wrong horse"), 401, "invalid_credentials"},
		{"rotate, unknown user", keys(nobody, owner.ID.String()), with(storetest.Password), 401, "invalid_credentials"},
		{"rotate, unknown agent", keys(owner.UserID.String(), nobody), with(storetest.Password), 404, "agent_not_found"},
		{"rotate another user's agent", keys(owner.UserID.String(), other.ID.String()), with(storetest.Password), 404, "agent_not_found"},
		{"rotate, suspended user", keys(suspendedUser.UserID.String(), suspendedUser.ID.String()), with(storetest.Password), 403, "user_suspended"},
		{"rotate, suspended agent", keys(owner.UserID.String(), suspendedAgent.ID.String()), with(storetest.Password), 403, "agent_suspended"},
		{"rotate", keys(owner.UserID.String(), owner.ID.String()), with(storetest.Password), 200, ""},
	} {
		a := f.send("POST", test.path, "", test.body)
		if a.status != test.status || test.code != "" && a.code() != test.code {
			t.Errorf("%s: %d %s, want %d %s", test.name, a.status, a.body, test.status, test.code)
		}
		if a.status == 401 && a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: WWW-Authenticate is %q", test.name, a.header.Get("WWW-Authenticate"))
		}
	}
}

func TestUnknownUserIsAnsweredLikeAWrongPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.db.NewAgent(t, storetest.NewAgentOptions{})
	body := map[string]any{"agent_name": "x", "user_password": "wrong horse"}
	headers := []string{"X-Request-ID", "same"}
	wrong := f.send("POST", "/v1/identity/users/"+user.UserID.String()+"/agents", "", body, headers...)
	unknown := f.send("POST", "/v1/identity/users/"+uuid.NewString()+"/agents", "", body, headers...)
	if wrong.status != 401 || unknown.status != 401 || !bytes.Equal(wrong.body, unknown.body) {
		t.Errorf("the answers differ:\n%s\n%s", wrong.body, unknown.body)
	}
}

func TestRotationEndsEarlierKeysAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	key := a.Key
	for range 3 {
		rotated, err := client.OK(f.client("").RotateAgentAPIKeyWithResponse(t.Context(), a.UserID, a.ID, nil, client.RotateAgentAPIKeyRequest{UserPassword: storetest.Password}))
		if err != nil {
			t.Fatal(err)
		}
		f.want(f.send("GET", "/v1/credits", key, nil), 401, "invalid_api_key")
		key = rotated.JSON200.APIKey
		f.want(f.send("GET", "/v1/credits", key, nil), 200, "")
	}
	inbox := f.want(f.send("GET", "/v1/notifications?type=agent.api_key_rotated", key, nil), 200, "")
	if n := strings.Count(string(inbox.body), `"agent.api_key_rotated"`); n != 3 {
		t.Errorf("%d notifications of 3 rotations", n)
	}
	if n := f.count("SELECT count(*) FROM api_keys WHERE agent_id = $1 AND revoked_at IS NULL", a.ID); n != 1 {
		t.Errorf("%d keys are live", n)
	}
}
