package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// CourseVersion is one uploaded version of a course, with its files sorted by path.
type CourseVersion struct {
	db.CourseVersion
	Files []VersionFile
}

// VersionFile is one file of a version.
type VersionFile = db.CourseVersionFile

// NewVersion is an upload whose files are in storage already.
type NewVersion struct {
	// ID is also the name under which the files are stored.
	ID            uuid.UUID
	CourseID      uuid.UUID
	Version       string
	ContentDigest string
	SizeBytes     int64
	// MainFile is empty if the bundle has none.
	MainFile string
	Files    []VersionFile
}

// CheckUpload refuses, before anything is read, an upload that CreateVersion would
// refuse afterwards: only the owner uploads, not to a blocked course, and never the
// same version again.
func (s *Store) CheckUpload(ctx context.Context, courseID uuid.UUID, version string, by Actor) error {
	course, err := s.q.GetCourse(ctx, courseID)
	if err != nil {
		return translate(err, "course")
	}
	if err := checkOwner(course, by.AgentID); err != nil {
		return err
	}
	if err := checkNotBlocked(course); err != nil {
		return err
	}
	taken, err := s.q.VersionTaken(ctx, db.VersionTakenParams{CourseID: courseID, Version: version})
	if err != nil {
		return translate(err, "")
	}
	if taken {
		return versionExists()
	}
	return nil
}

// CreateVersion records an uploaded version. The same ID again returns the first.
func (s *Store) CreateVersion(ctx context.Context, n NewVersion, by Actor) (CourseVersion, error) {
	err := s.inTx(ctx, func(t *tx) error {
		course, err := t.LockCourse(ctx, n.CourseID)
		if err != nil {
			return translate(err, "course")
		}
		if err := checkOwner(course, by.AgentID); err != nil {
			return err
		}
		if err := checkNotBlocked(course); err != nil {
			return err
		}
		p := db.InsertCourseVersionParams{ID: n.ID, CourseID: n.CourseID, Version: n.Version, ContentDigest: n.ContentDigest, SizeBytes: n.SizeBytes}
		if n.MainFile != "" {
			p.MainFile = &n.MainFile
		}
		inserted, err := t.InsertCourseVersion(ctx, p)
		if err != nil || inserted == 0 {
			return err
		}
		files := make([]db.InsertCourseVersionFilesParams, len(n.Files))
		for i, f := range n.Files {
			f.VersionID = n.ID
			files[i] = db.InsertCourseVersionFilesParams(f)
		}
		if _, err := t.InsertCourseVersionFiles(ctx, files); err != nil {
			return err
		}
		return t.audit(ctx, by, "course_version.created", "course_version", n.ID, map[string]any{"version": n.Version})
	})
	if err != nil {
		return CourseVersion{}, err
	}
	return s.GetVersion(ctx, n.ID)
}

// GetVersion returns a version with its files, or version_not_found.
func (s *Store) GetVersion(ctx context.Context, id uuid.UUID) (CourseVersion, error) {
	row, err := s.q.GetCourseVersion(ctx, id)
	if err != nil {
		return CourseVersion{}, translate(err, "version")
	}
	files, err := s.q.ListCourseVersionFiles(ctx, []uuid.UUID{id})
	return CourseVersion{row, files}, translate(err, "")
}

// ListVersions returns a course's versions with their files, newest first, to its owner
// or to a reviewer.
func (s *Store) ListVersions(ctx context.Context, courseID, viewer uuid.UUID, reviewer bool, page Page) ([]CourseVersion, error) {
	course, err := s.q.GetCourse(ctx, courseID)
	if err != nil {
		return nil, translate(err, "course")
	}
	if !reviewer {
		if err := checkOwner(course, viewer); err != nil {
			return nil, err
		}
	}
	rows, err := s.q.ListCourseVersions(ctx, db.ListCourseVersionsParams{CourseID: courseID,
		BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
	if err != nil {
		return nil, translate(err, "")
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	files, err := s.q.ListCourseVersionFiles(ctx, ids)
	if err != nil {
		return nil, translate(err, "")
	}
	byVersion := make(map[uuid.UUID][]VersionFile, len(rows))
	for _, f := range files {
		byVersion[f.VersionID] = append(byVersion[f.VersionID], f)
	}
	versions := make([]CourseVersion, len(rows))
	for i, row := range rows {
		versions[i] = CourseVersion{row, byVersion[row.ID]}
	}
	return versions, nil
}

// VersionsKept returns which of the versions exist; storage may hold the files of
// others, whose upload was cut off.
func (s *Store) VersionsKept(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := s.q.ExistingCourseVersions(ctx, ids)
	kept := make(map[uuid.UUID]bool, len(rows))
	for _, id := range rows {
		kept[id] = true
	}
	return kept, translate(err, "")
}

// checkOwner refuses every agent but the course's owner: not found if it may not know
// of the course, forbidden otherwise.
func checkOwner(c db.Course, agentID uuid.UUID) error {
	switch {
	case c.OwnerAgentID == agentID:
		return nil
	case c.Status == market.CoursePublished && c.Visibility != market.VisibilityPrivate:
		return market.Forbidden("not_course_owner", "Only the agent that owns the course may do this.")
	default:
		return market.NotFound("course")
	}
}

func checkNotBlocked(c db.Course) error {
	if c.Status == market.CourseBlocked {
		return market.Conflict("course_blocked", "The course is blocked; this works again when a moderator unblocks it.")
	}
	return nil
}

func versionExists() error {
	e := *constraintErrors["course_versions_course_id_version_key"]
	return &e
}

// FileTicket allows one GET of one file of a version.
type FileTicket struct {
	Hash [32]byte
	Path string
}

// IssueFileTickets records tickets that work until expires.
func (s *Store) IssueFileTickets(ctx context.Context, versionID, agentID uuid.UUID, tickets []FileTicket, expires time.Time) error {
	rows := make([]db.InsertFileTicketsParams, len(tickets))
	for i, t := range tickets {
		rows[i] = db.InsertFileTicketsParams{TokenHash: t.Hash[:], VersionID: versionID, Path: t.Path, IssuedTo: agentID, ExpiresAt: expires}
	}
	_, err := s.q.InsertFileTickets(ctx, rows)
	return translate(err, "")
}

// TicketFile is the file that a ticket is for.
type TicketFile struct {
	CourseID uuid.UUID
	File     VersionFile
}

// FindFileTicket returns the file of a ticket that still works: a ticket we did not
// issue is forbidden, one that is used or expired is gone.
func (s *Store) FindFileTicket(ctx context.Context, hash [32]byte) (TicketFile, error) {
	row, err := s.q.FindFileTicket(ctx, hash[:])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return TicketFile{}, market.Forbidden("ticket_invalid", "This download URL is not one we issued; ask for a new one.")
	case err != nil:
		return TicketFile{}, translate(err, "")
	case row.UsedAt != nil:
		return TicketFile{}, ticketUsed()
	case !row.ExpiresAt.After(s.now()):
		return TicketFile{}, &market.Error{Kind: market.KindGone, Code: "ticket_expired", Detail: "This download URL has expired; ask for a new one."}
	}
	return TicketFile{CourseID: row.CourseID, File: row.CourseVersionFile}, nil
}

// ConsumeFileTicket uses the ticket up. Of requests that race, one gets nil, the others
// ticket_used.
func (s *Store) ConsumeFileTicket(ctx context.Context, hash [32]byte) error {
	consumed, err := s.q.ConsumeFileTicket(ctx, hash[:])
	if err == nil && consumed == 0 {
		return ticketUsed()
	}
	return translate(err, "")
}

func ticketUsed() error {
	return &market.Error{Kind: market.KindGone, Code: "ticket_used", Detail: "This download URL was used; each allows a single GET. Ask for a new one."}
}
