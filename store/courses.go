package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// NewCourse is a course that its owner begins.
type NewCourse struct {
	// ID becomes the course's; the zero value lets the store choose. The same ID again
	// makes no other course.
	ID      uuid.UUID
	OwnerID uuid.UUID
	Title   string
	// Slug is made from the title when it is empty.
	Slug               string
	Summary            *string
	Visibility         market.Visibility
	PriceCents         int64
	CodehostRepository *string
	CodehostBaseBranch *string
}

const maxSlugLength = 100

// CreateCourse begins a course as a draft. A slug that was given and is taken is
// refused (slug_taken); one made from the title is made unique.
func (s *Store) CreateCourse(ctx context.Context, in NewCourse) (course db.Course, err error) {
	in.ID = idOr(in.ID)
	given := in.Slug != ""
	err = s.inTx(ctx, func(t *tx) error {
		course, err = t.GetCourse(ctx, in.ID)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		slug := in.Slug
		if !given {
			if slug, err = t.freeSlug(ctx, in.Title, in.ID); err != nil {
				return err
			}
		}
		course, err = t.InsertCourse(ctx, db.InsertCourseParams{
			ID: in.ID, Slug: slug, Title: in.Title, Summary: in.Summary, Visibility: in.Visibility, PriceCents: in.PriceCents,
			OwnerAgentID: in.OwnerID, CodehostRepository: in.CodehostRepository, CodehostBaseBranch: in.CodehostBaseBranch,
		})
		if err != nil {
			return err
		}
		return t.audit(ctx, Actor{AgentID: in.OwnerID}, "course.created", "course", in.ID, map[string]any{"slug": slug})
	})
	if !given && market.HasCode(err, "slug_taken") {
		// Another course of the same title was made at the same moment.
		in.Slug = uniqueSlug(in.Title, in.ID)
		return s.CreateCourse(ctx, in)
	}
	return course, err
}

func (t *tx) freeSlug(ctx context.Context, title string, id uuid.UUID) (string, error) {
	slug := Slugify(title)
	if slug == "" {
		return uniqueSlug(title, id), nil
	}
	taken, err := t.SlugTaken(ctx, slug)
	if taken {
		slug = uniqueSlug(title, id)
	}
	return slug, err
}

// uniqueSlug appends the random end of the course's id.
func uniqueSlug(title string, id uuid.UUID) string {
	suffix := fmt.Sprintf("-%x", id[10:])
	slug := Slugify(title)
	if slug == "" {
		slug = "course"
	}
	slug = strings.TrimRight(slug[:min(len(slug), maxSlugLength-len(suffix))], "-")
	return slug + suffix
}

// Slugify turns a title into a slug: lower-case ASCII letters and digits with single
// hyphens between them, accents dropped. It is empty when nothing of that kind is left.
func Slugify(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(strings.ToLower(title)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r):
			gap = true
		}
		if b.Len() >= maxSlugLength-1 {
			break
		}
	}
	return b.String()
}

// CourseRow is a course and its newest uploaded version, if it has one.
type CourseRow struct {
	Course          db.Course
	LatestVersionID *uuid.UUID
}

// GetCourse returns a course, whoever may see it.
func (s *Store) GetCourse(ctx context.Context, id uuid.UUID) (CourseRow, error) {
	row, err := s.q.GetCourseWithLatest(ctx, id)
	return found(CourseRow(row), err, "course")
}

// CourseFilter says whose list of courses is asked for.
type CourseFilter struct {
	// Viewer sees its own courses besides the public ones; zero for nobody.
	Viewer uuid.UUID
	// Owner leaves only this agent's courses.
	Owner *uuid.UUID
}

// ListCourses returns a page of the public courses and the viewer's own, newest first.
func (s *Store) ListCourses(ctx context.Context, f CourseFilter, p Page) ([]CourseRow, error) {
	rows, err := s.q.ListCourses(ctx, db.ListCoursesParams{
		OwnerAgentID: f.Owner, ViewerAgentID: f.Viewer, BeforeAt: p.before(), BeforeID: p.beforeID(), PageSize: p.size(),
	})
	courses := make([]CourseRow, len(rows))
	for i, row := range rows {
		courses[i] = CourseRow(row)
	}
	return courses, translate(err, "")
}
