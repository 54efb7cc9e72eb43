package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// CreateCourseVersion streams an archive into storage and records it as a version.
// Either both exist afterwards or, once the clean-up has run, neither.
func (s *Server) CreateCourseVersion(ctx context.Context, in CreateCourseVersionRequestObject) (CreateCourseVersionResponseObject, error) {
	id := creationID(ctx)
	if id == uuid.Nil {
		id = uuid.Must(uuid.NewV7())
	} else if earlier, err := s.store.GetVersion(ctx, id); err == nil {
		// The upload was recorded, but its answer was lost.
		return CreateCourseVersion201JSONResponse(courseVersion(earlier)), nil
	}
	if err := s.store.CheckUpload(ctx, in.CourseID, in.Params.Version, actorOf(ctx)); err != nil {
		return nil, err
	}
	format, err := bundle.FormatOf(in.ContentType)
	if err != nil {
		return nil, err
	}
	manifest, err := s.storage.Ingest(ctx, bundle.Upload{CourseID: in.CourseID, VersionID: id, Format: format, Body: in.Body})
	if err != nil {
		return nil, err
	}
	version, err := s.store.CreateVersion(ctx, newVersion(id, in, manifest), actorOf(ctx))
	if err != nil {
		if e, ok := market.AsError(err); ok && !e.Retryable() {
			// Refused for certain. After an outage the version may have been recorded all
			// the same; if it was not, the clean-up finds its files.
			s.storage.Discard(ctx, in.CourseID, id)
		}
		return nil, err
	}
	return CreateCourseVersion201JSONResponse(courseVersion(version)), nil
}

func newVersion(id uuid.UUID, in CreateCourseVersionRequestObject, m *bundle.Manifest) store.NewVersion {
	n := store.NewVersion{ID: id, CourseID: in.CourseID, Version: in.Params.Version,
		ContentDigest: m.ContentDigest, SizeBytes: m.SizeBytes, MainFile: m.MainFile}
	for _, f := range m.Files {
		n.Files = append(n.Files, store.VersionFile{Path: f.Path, Role: string(f.Role), ContentType: f.ContentType, SizeBytes: f.SizeBytes, Sha256: f.SHA256})
	}
	return n
}

// ListCourseVersions lists what was uploaded, for the owner and for reviewers.
func (s *Server) ListCourseVersions(ctx context.Context, in ListCourseVersionsRequestObject) (ListCourseVersionsResponseObject, error) {
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor, in.CourseID.String())
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	me := principalOf(ctx)
	rows, err := s.store.ListVersions(ctx, in.CourseID, me.AgentID, me.Has(market.RoleReviewer, market.RoleAdmin), page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(v store.CourseVersion) store.Position { return store.Position{CreatedAt: v.CreatedAt, ID: v.ID} })
	return ListCourseVersions200JSONResponse{Items: mapSlice(rows, courseVersion), NextCursor: next}, nil
}

func courseVersion(v store.CourseVersion) CourseVersion {
	return CourseVersion{ID: v.ID, CourseID: v.CourseID, Version: v.Version, ContentDigest: v.ContentDigest, SizeBytes: v.SizeBytes,
		Status: string(v.Status), CreatedAt: v.CreatedAt,
		Files: mapSlice(v.Files, func(f store.VersionFile) CourseFile {
			return CourseFile{Path: f.Path, Role: FileRole(f.Role), ContentType: f.ContentType, SizeBytes: f.SizeBytes, Sha256: f.Sha256}
		})}
}
