package api_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// behindProxy makes the fixture's clients speak for whoever they say.
func behindProxy(o *api.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func TestSignUpsAreLimitedPerAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, behindProxy, func(o *api.Options) { o.Limits.Signups = store.Limit{Max: 3, Period: time.Hour} })
	from := func(address, email string) answer {
		return f.send("POST", "/v1/identity/users", "", signup(email), "X-Forwarded-For", address)
	}
	f.want(from("192.0.2.1", "a@example.com"), 201, "")
	f.want(from("192.0.2.1", "a@example.com"), 409, "email_taken") // a refused one counts too
	f.want(from("192.0.2.1", "b@example.com"), 201, "")
	over := f.want(from("192.0.2.1", "c@example.com"), 429, "rate_limited")
	for name, want := range map[string][2]int{"RateLimit-Limit": {3, 3}, "RateLimit-Remaining": {0, 0}, "RateLimit-Reset": {3500, 3600}, "Retry-After": {3500, 3600}} {
		got, err := strconv.Atoi(over.header.Get(name))
		if err != nil || got < want[0] || got > want[1] {
			t.Errorf("%s is %q, want %d to %d", name, over.header.Get(name), want[0], want[1])
		}
	}
	f.want(from("192.0.2.2", "c@example.com"), 201, "")
	// The next window: waiting helps, and only the bucket's own clock counts.
	if _, err := f.db.Pool().Exec(t.Context(), "UPDATE rate_limits SET resets_at = now()"); err != nil {
		t.Fatal(err)
	}
	f.want(from("192.0.2.1", "d@example.com"), 201, "")
}

func TestIPv6IsLimitedByItsNetwork(t *testing.T) {
	t.Parallel()
	f := newFixture(t, behindProxy, func(o *api.Options) { o.Limits.Signups = store.Limit{Max: 1, Period: time.Hour} })
	from := func(address, email string) answer {
		return f.send("POST", "/v1/identity/users", "", signup(email), "X-Forwarded-For", address)
	}
	f.want(from("2001:db8:1:1::1", "a@example.com"), 201, "")
	f.want(from("2001:db8:1:1:ffff::2", "b@example.com"), 429, "rate_limited")
	f.want(from("2001:db8:1:2::1", "b@example.com"), 201, "")
}

func TestForwardedForIsBelievedFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *api.Options) { o.Limits.Signups = store.Limit{Max: 1, Period: time.Hour} })
	f.want(f.send("POST", "/v1/identity/users", "", signup("a@example.com"), "X-Forwarded-For", "192.0.2.1"), 201, "")
	f.want(f.send("POST", "/v1/identity/users", "", signup("b@example.com"), "X-Forwarded-For", "192.0.2.2"), 429, "rate_limited")
}

func TestPasswordChecksAreLimitedPerUserAndPerAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, behindProxy, func(o *api.Options) { o.Limits.PasswordChecks = store.Limit{Max: 2, Period: time.Hour} })
	user := f.db.NewAgent(t, storetest.NewAgentOptions{})
	rotate := func(userID uuid.UUID, password, address string) answer {
		return f.send("POST", "/v1/identity/users/"+userID.String()+"/agents/"+user.ID.String()+"/api-keys", "",
			map[string]any{"user_password": password}, "X-Forwarded-For", address)
	}
	// Right and wrong ones count, for the user wherever they come from.
	f.want(rotate(user.UserID, storetest.Password, "192.0.2.1"), 200, "")
	f.want(rotate(user.UserID, "wrong horse", "192.0.2.2"), 401, "invalid_credentials")
	f.want(rotate(user.UserID, storetest.Password, "192.0.2.3"), 429, "rate_limited")
	// From one address, for whatever user, known or not.
	f.want(rotate(uuid.New(), "wrong horse", "192.0.2.4"), 401, "invalid_credentials")
	f.want(rotate(uuid.New(), "wrong horse", "192.0.2.4"), 401, "invalid_credentials")
	f.want(rotate(uuid.New(), "wrong horse", "192.0.2.4"), 429, "rate_limited")
	// A user who does not exist is limited like one who does.
	nobody := uuid.New()
	f.want(rotate(nobody, "wrong horse", "192.0.2.5"), 401, "")
	f.want(rotate(nobody, "wrong horse", "192.0.2.6"), 401, "")
	f.want(rotate(nobody, "wrong horse", "192.0.2.7"), 429, "rate_limited")
}

func TestLimitsHoldOverReplicas(t *testing.T) {
	t.Parallel()
	limited := func(o *api.Options) { o.Limits.Signups = store.Limit{Max: 1, Period: time.Hour} }
	f := newFixture(t, limited)
	replica := newFixture(t, limited, func(o *api.Options) { o.Store = f.db.Store })
	f.want(f.send("POST", "/v1/identity/users", "", signup("a@example.com")), 201, "")
	f.want(replica.send("POST", "/v1/identity/users", "", signup("b@example.com")), 429, "rate_limited")
}
