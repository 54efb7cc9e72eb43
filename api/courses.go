package api

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// CreateCourse answers create_course.
func (s *Server) CreateCourse(ctx context.Context, in CreateCourseRequestObject) (CreateCourseResponseObject, error) {
	title := strings.TrimSpace(in.Body.Title)
	if title == "" {
		return nil, market.Invalid("string_too_short", "must not be blank", "body", "title")
	}
	me := principalOf(ctx)
	course, err := s.store.CreateCourse(ctx, store.NewCourse{
		ID: creationID(ctx), OwnerID: me.AgentID, Title: title, Slug: orEmpty(in.Body.Slug), Summary: trimmed(in.Body.Summary),
		Visibility: market.Visibility(cmp.Or(in.Body.Visibility, VisibilityPrivate)), PriceCents: in.Body.PriceCents,
		CodehostRepository: in.Body.CodehostRepository, CodehostBaseBranch: in.Body.CodehostBaseBranch,
	})
	if err != nil {
		return nil, err
	}
	return CreateCourse201JSONResponse(courseRecord(me, store.CourseRow{Course: course})), nil
}

// ListCourses answers list_courses.
func (s *Server) ListCourses(ctx context.Context, in ListCoursesRequestObject) (ListCoursesResponseObject, error) {
	owner := in.Params.OwnerAgentID
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor, uuidText(owner))
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	me := principalOf(ctx)
	rows, err := s.store.ListCourses(ctx, store.CourseFilter{Viewer: me.AgentID, Owner: owner}, page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(r store.CourseRow) store.Position {
		return store.Position{CreatedAt: r.Course.CreatedAt, ID: r.Course.ID}
	})
	return ListCourses200JSONResponse{
		Items:      mapSlice(rows, func(r store.CourseRow) Course { return courseRecord(me, r) }),
		NextCursor: next,
	}, nil
}

// GetCourse answers get_course.
func (s *Server) GetCourse(ctx context.Context, in GetCourseRequestObject) (GetCourseResponseObject, error) {
	course, err := s.store.GetCourse(ctx, in.CourseID)
	if err != nil {
		return nil, err
	}
	me := principalOf(ctx)
	if !maySeeCourse(me, course) {
		return nil, market.NotFound("course")
	}
	return GetCourse200JSONResponse(courseRecord(me, course)), nil
}

// maySeeCourse: its owner and reviewers see a course in any state, everybody else once
// it is published and not private.
func maySeeCourse(p Principal, r store.CourseRow) bool {
	published := r.Course.Status == market.CoursePublished && r.Course.Visibility != market.VisibilityPrivate
	return published || mayReadDrafts(p, r)
}

func mayReadDrafts(p Principal, r store.CourseRow) bool {
	return p.Known() && p.AgentID == r.Course.OwnerAgentID || p.Has(forReviewers...)
}

// courseRecord is the course as p sees it: what is uploaded but not published is only
// for who may read drafts.
func courseRecord(p Principal, r store.CourseRow) Course {
	c := r.Course
	record := Course{
		ID: c.ID, Slug: c.Slug, Title: c.Title, Summary: c.Summary, Status: CourseStatus(c.Status), Visibility: Visibility(c.Visibility),
		PriceCents: c.PriceCents, Currency: c.Currency, OwnerAgentID: c.OwnerAgentID, PublishedVersionID: c.PublishedVersionID,
		CodehostRepository: c.CodehostRepository, CodehostBaseBranch: c.CodehostBaseBranch, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		LatestVersionID: c.PublishedVersionID,
	}
	if mayReadDrafts(p, r) {
		record.LatestVersionID = r.LatestVersionID
	}
	return record
}

// uuidText is the id as text; empty for none.
func uuidText(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}
