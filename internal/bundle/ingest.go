package bundle

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// Upload is an archive on its way into storage. VersionID must be new: a failed
// upload removes everything stored under it.
type Upload struct {
	CourseID  uuid.UUID
	VersionID uuid.UUID
	Format    Format
	Body      io.Reader
}

const (
	// parallelPuts bounds the requests to storage of one upload, and with them
	// its memory.
	parallelPuts = 8
	// discardTimeout bounds the clean-up after a failed upload; what it misses
	// the clean-up workflow finds.
	discardTimeout = 10 * time.Second
)

// Ingest validates the whole archive, then stores its files. After any error
// nothing of it is left in storage, as far as storage can be reached; the rest
// is found by VersionsUntouchedSince. Files with the same content are stored
// once.
//
// It refuses with the codes of docs/bundles.md and fails with
// "storage_unavailable" or "upload_spool_unavailable" during outages.
func (s *Storage) Ingest(ctx context.Context, up Upload) (*Manifest, error) {
	u, err := unpack(ctx, up.Body, up.Format, s.spoolDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = u.Close() }()
	if err := s.putFiles(ctx, up, u); err != nil {
		s.Discard(ctx, up.CourseID, up.VersionID)
		return nil, err
	}
	files := make([]File, len(u.files))
	for i, f := range u.files {
		files[i] = f.File
		files[i].Key = FileKey(up.CourseID, up.VersionID, f.SHA256)
	}
	m := newManifest(files, u.packedBytes)
	return &m, nil
}

func (s *Storage) putFiles(ctx context.Context, up Upload, u *unpacked) error {
	group, putCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelPuts)
	stored := make(map[string]bool, len(u.files))
	for _, f := range u.files {
		if stored[f.SHA256] {
			continue
		}
		stored[f.SHA256] = true
		if putCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			return s.Put(putCtx, Object{
				Key:  FileKey(up.CourseID, up.VersionID, f.SHA256),
				Body: u.content.section(f.offset, f.SizeBytes), SizeBytes: f.SizeBytes,
				// The type is the path's, and two paths may share one object:
				// whoever delivers it sets the type.
				ContentType: octetStream, SHA256: f.SHA256,
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// Discard removes what was stored of a version that came to nothing, as far as storage
// can be reached. It outlives the request that failed, often because its client is gone.
func (s *Storage) Discard(ctx context.Context, courseID, versionID uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	_, _ = s.DeletePrefix(ctx, VersionPrefix(courseID, versionID))
}
