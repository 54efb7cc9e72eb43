package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/password"
	"github.com/course-marketplace/backend/store"
)

// Password is the password of every user that NewAgent makes.
const Password = "correct horse battery"

// Passwords hashes at next to no cost.
var Passwords = sync.OnceValue(func() *password.Hasher {
	return password.NewHasher(password.Params{Passes: 1, MemoryKiB: 64, Threads: 1})
})

var passwordHash = sync.OnceValues(func() (string, error) { return Passwords().Hash(context.Background(), Password) })

// Agent is an agent that a test acts with.
type Agent struct {
	ID, UserID  uuid.UUID
	Name, Email string
	// Key is the API key in full.
	Key string
}

// NewAgentOptions choose what a test cares about; the rest is made up.
type NewAgentOptions struct {
	// UserID adds the agent to a user that exists; otherwise one is made.
	UserID uuid.UUID
	Name   string
	Email  string
	Roles  []market.Role
}

// NewAgent makes an agent, with a user of its own unless one is given.
func (db *DB) NewAgent(t testing.TB, o NewAgentOptions) Agent {
	t.Helper()
	unique := strings.ToLower(rand.Text())
	a := Agent{Name: cmp.Or(o.Name, "agent-"+unique), Email: cmp.Or(o.Email, unique+"@example.com"), UserID: o.UserID}
	key := apikey.New()
	a.Key = key.Text()
	profile := store.AgentProfile{Name: a.Name}
	if o.UserID != uuid.Nil {
		agent, err := db.AddAgent(t.Context(), store.NewAgent{UserID: o.UserID, AgentProfile: profile, Key: key})
		must(t, err)
		a.ID = agent.ID
		return a
	}
	hash, err := passwordHash()
	must(t, err)
	user, agent, err := db.CreateUser(t.Context(), store.Signup{Email: a.Email, PasswordHash: hash, Agent: profile, Key: key})
	must(t, err)
	a.ID, a.UserID = agent.ID, user.ID
	for _, role := range o.Roles {
		_, err := db.GrantRole(t.Context(), user.ID, role)
		must(t, err)
	}
	return a
}

// NewCourseOptions choose what a test cares about.
type NewCourseOptions struct {
	Owner      uuid.UUID
	Title      string
	Status     market.CourseStatus
	Visibility market.Visibility
	Repository string
	PriceCents int64
}

// NewCourse makes a course in the given state; a published one has a version.
func (db *DB) NewCourse(t testing.TB, o NewCourseOptions) uuid.UUID {
	t.Helper()
	in := store.NewCourse{
		OwnerID: o.Owner, Title: cmp.Or(o.Title, "Practical Go"), Visibility: cmp.Or(o.Visibility, market.VisibilityPrivate), PriceCents: o.PriceCents,
	}
	if o.Repository != "" {
		in.CodehostRepository = &o.Repository
	}
	course, err := db.CreateCourse(t.Context(), in)
	must(t, err)
	switch o.Status {
	case "", market.CourseDraft:
	case market.CoursePublished:
		version := db.NewVersion(t, course.ID, "1.0.0")
		db.execute(t, "UPDATE courses SET status = 'published', published_version_id = $2 WHERE id = $1", course.ID, version)
	case market.CourseBlocked:
		db.BlockCourse(t, course.ID)
	default:
		db.execute(t, "UPDATE courses SET status = $2 WHERE id = $1", course.ID, o.Status)
	}
	return course.ID
}

// NewVersion gives a course an uploaded version without files.
func (db *DB) NewVersion(t testing.TB, courseID uuid.UUID, version string) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	db.execute(t, `INSERT INTO course_versions (id, course_id, version, content_digest, size_bytes)
		VALUES ($1, $2, $3, 'sha256:' || repeat('0', 64), 0)`, id, courseID, version)
	return id
}

// BlockCourse blocks a course as a moderator would.
func (db *DB) BlockCourse(t testing.TB, courseID uuid.UUID) {
	t.Helper()
	db.execute(t, `UPDATE courses SET status_before_block = status, visibility_before_block = visibility,
		status = 'blocked', visibility = 'private' WHERE id = $1`, courseID)
}

// SuspendAgent suspends an agent.
func (db *DB) SuspendAgent(t testing.TB, agentID uuid.UUID) {
	t.Helper()
	db.execute(t, "UPDATE agents SET status = 'suspended' WHERE id = $1", agentID)
}

// ReactivateAgent ends an agent's suspension.
func (db *DB) ReactivateAgent(t testing.TB, agentID uuid.UUID) {
	t.Helper()
	db.execute(t, "UPDATE agents SET status = 'active', suspended_with_user = false WHERE id = $1", agentID)
}

// SuspendUser suspends a user and its agents.
func (db *DB) SuspendUser(t testing.TB, userID uuid.UUID) {
	t.Helper()
	db.execute(t, "UPDATE users SET status = 'suspended' WHERE id = $1", userID)
	db.execute(t, "UPDATE agents SET status = 'suspended', suspended_with_user = true WHERE user_id = $1 AND status = 'active'", userID)
}

// Credit gives an agent credit to spend.
func (db *DB) Credit(t testing.TB, agentID uuid.UUID, cents int64) {
	t.Helper()
	_, err := db.GrantCredits(t.Context(), store.Grant{AgentID: agentID, AmountCents: cents, Currency: market.Currency, Reason: "test"}, store.Actor{})
	must(t, err)
}

func (db *DB) execute(t testing.TB, statement string, args ...any) {
	t.Helper()
	tag, err := db.Pool().Exec(t.Context(), statement, args...)
	must(t, err)
	if tag.RowsAffected() == 0 {
		t.Fatalf("no row was changed by: %s", statement)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
