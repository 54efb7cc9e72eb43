package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// newVersion is an upload of two files.
func newVersion(course uuid.UUID, number string) store.NewVersion {
	id := uuid.Must(uuid.NewV7())
	digest := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	return store.NewVersion{ID: id, CourseID: course, Version: number, ContentDigest: "sha256:" + digest(id.String()), SizeBytes: 12, MainFile: "SKILL.md",
		Files: []store.VersionFile{
			{Path: "SKILL.md", Role: "main", ContentType: "text/markdown; charset=utf-8", SizeBytes: 5, Sha256: digest("skill")},
			{Path: "notes.txt", Role: "reference", ContentType: "text/plain; charset=utf-8", SizeBytes: 7, Sha256: digest("notes")},
		}}
}

// wantRefusal fails the test unless err is the domain error of the kind and code.
func wantRefusal(t *testing.T, err error, kind market.Kind, code string) {
	t.Helper()
	if e, ok := market.AsError(err); !ok || e.Kind != kind || e.Code != code {
		t.Errorf("got %v, want %s (%s)", err, code, kind)
	}
}

func TestVersionsAreForTheOwnersCourse(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	owner, stranger := db.NewAgent(t, storetest.NewAgentOptions{}), db.NewAgent(t, storetest.NewAgentOptions{})
	course := func(o storetest.NewCourseOptions) uuid.UUID {
		o.Owner = owner.ID
		return db.NewCourse(t, o)
	}
	draft := course(storetest.NewCourseOptions{})
	public := course(storetest.NewCourseOptions{Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	hidden := course(storetest.NewCourseOptions{Status: market.CoursePublished})
	blocked := course(storetest.NewCourseOptions{Status: market.CourseBlocked})
	tests := map[string]struct {
		course uuid.UUID
		number string
		by     uuid.UUID
		kind   market.Kind
		code   string
	}{
		"an unknown course":    {uuid.New(), "1.0.0", owner.ID, market.KindNotFound, "course_not_found"},
		"another's draft":      {draft, "1.0.0", stranger.ID, market.KindNotFound, "course_not_found"},
		"another's private":    {hidden, "2.0.0", stranger.ID, market.KindNotFound, "course_not_found"},
		"another's public":     {public, "2.0.0", stranger.ID, market.KindForbidden, "not_course_owner"},
		"a blocked course":     {blocked, "1.0.0", owner.ID, market.KindConflict, "course_blocked"},
		"the number once more": {public, "1.0.0", owner.ID, market.KindConflict, "version_exists"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by := store.Actor{AgentID: test.by}
			wantRefusal(t, db.CheckUpload(t.Context(), test.course, test.number, by), test.kind, test.code)
			n := newVersion(test.course, test.number)
			_, err := db.CreateVersion(t.Context(), n, by)
			wantRefusal(t, err, test.kind, test.code)
			_, err = db.GetVersion(t.Context(), n.ID)
			wantRefusal(t, err, market.KindNotFound, "version_not_found")
		})
	}
}

func TestVersionIsImmutable(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	owner := db.NewAgent(t, storetest.NewAgentOptions{})
	by := store.Actor{AgentID: owner.ID}
	n := newVersion(db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID}), "1.0.0")
	made, err := db.CreateVersion(t.Context(), n, by)
	if err != nil {
		t.Fatal(err)
	}
	again, err := db.CreateVersion(t.Context(), n, by)
	if err != nil || again.CreatedAt != made.CreatedAt || len(again.Files) != 2 {
		t.Errorf("the same upload again: %+v, %v", again, err)
	}
	for _, statement := range []string{
		"UPDATE course_versions SET content_digest = 'sha256:' || repeat('f', 64) WHERE id = $1",
		"UPDATE course_versions SET version = '9.9.9' WHERE id = $1",
		"UPDATE course_versions SET main_file = NULL WHERE id = $1",
		"DELETE FROM course_versions WHERE id = $1",
		"UPDATE course_version_files SET sha256 = repeat('f', 64) WHERE version_id = $1",
		"DELETE FROM course_version_files WHERE version_id = $1",
	} {
		var refused *pgconn.PgError
		if _, err := db.Pool().Exec(t.Context(), statement, n.ID); !errors.As(err, &refused) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestVersionsKept(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	course := db.NewCourse(t, storetest.NewCourseOptions{Owner: db.NewAgent(t, storetest.NewAgentOptions{}).ID})
	known, unknown := db.NewVersion(t, course, "1.0.0"), uuid.New()
	kept, err := db.VersionsKept(t.Context(), []uuid.UUID{known, unknown})
	if err != nil || !kept[known] || kept[unknown] {
		t.Errorf("%v, %v", kept, err)
	}
}

// ticketed is a version whose first file has a ticket.
func ticketed(t *testing.T, db *storetest.DB, lifetime time.Duration) ([32]byte, store.NewVersion) {
	t.Helper()
	owner := db.NewAgent(t, storetest.NewAgentOptions{})
	n := newVersion(db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID}), "1.0.0")
	if _, err := db.CreateVersion(t.Context(), n, store.Actor{AgentID: owner.ID}); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(n.ID.String()))
	err := db.IssueFileTickets(t.Context(), n.ID, owner.ID, []store.FileTicket{{Hash: hash, Path: "SKILL.md"}}, time.Now().Add(lifetime))
	if err != nil {
		t.Fatal(err)
	}
	return hash, n
}

func TestTicketIsConsumedOnce(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	hash, n := ticketed(t, db, time.Minute)
	found, err := db.FindFileTicket(t.Context(), hash)
	if err != nil || found.CourseID != n.CourseID || found.File.Path != "SKILL.md" || found.File.VersionID != n.ID {
		t.Fatalf("%+v, %v", found, err)
	}
	results := make([]error, 20)
	var racing sync.WaitGroup
	for i := range results {
		racing.Go(func() { results[i] = db.ConsumeFileTicket(t.Context(), hash) })
	}
	racing.Wait()
	consumed := 0
	for _, err := range results {
		switch {
		case err == nil:
			consumed++
		case !market.HasCode(err, "ticket_used"):
			t.Error(err)
		}
	}
	if consumed != 1 {
		t.Errorf("consumed %d times", consumed)
	}
	_, err = db.FindFileTicket(t.Context(), hash)
	wantRefusal(t, err, market.KindGone, "ticket_used")
}

func TestUselessTickets(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	_, err := db.FindFileTicket(t.Context(), sha256.Sum256([]byte("made up")))
	wantRefusal(t, err, market.KindForbidden, "ticket_invalid")
	expired, _ := ticketed(t, db, -time.Second)
	_, err = db.FindFileTicket(t.Context(), expired)
	wantRefusal(t, err, market.KindGone, "ticket_expired")
	if err := db.ConsumeFileTicket(t.Context(), expired); err == nil {
		t.Error("an expired ticket was consumed")
	}
}

func TestTicketsAreForFilesOfTheVersion(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	_, n := ticketed(t, db, time.Minute)
	stranger := db.NewAgent(t, storetest.NewAgentOptions{})
	hash := sha256.Sum256([]byte("another"))
	err := db.IssueFileTickets(t.Context(), n.ID, stranger.ID, []store.FileTicket{{Hash: hash, Path: "absent"}}, time.Now().Add(time.Minute))
	if err == nil || !strings.Contains(err.Error(), "file_tickets") {
		t.Errorf("a ticket for a file that is not there: %v", err)
	}
}
