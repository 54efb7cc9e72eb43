package activities

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/scanner"
	"github.com/course-marketplace/backend/store"
)

// storedFiles gives the scanner a version's files, read from storage when a layer asks
// and checked against their digests. To a layer, a file that it cannot read is one more
// thing to report; a file that storage does not hand out as it was uploaded says nothing
// about the bundle, so that failure is kept for the activity to fail with.
type storedFiles struct {
	*scanner.Bundle
	close func()

	mu    sync.Mutex
	first error
}

func openStored(ctx context.Context, storage *bundle.Storage, version store.CourseVersion) *storedFiles {
	stored := bundle.OpenStored(storage, manifestOf(version))
	s := &storedFiles{Bundle: &scanner.Bundle{}, close: func() { _ = stored.Close() }}
	for _, f := range version.Files {
		s.Files = append(s.Files, scanner.File{Path: f.Path, Size: f.SizeBytes,
			Open: func() (io.ReadCloser, error) {
				if err := s.failure(); err != nil {
					return nil, err // not an outage's wait for each of 2,000 files
				}
				body, err := stored.Open(ctx, f.Path)
				if err != nil {
					return nil, s.note(err)
				}
				return storedFile{body, s}, nil
			}})
	}
	return s
}

// storedFile notes why it could not be read to its end.
type storedFile struct {
	io.ReadCloser
	of *storedFiles
}

func (f storedFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.of.note(err)
	}
	return n, err
}

func (s *storedFiles) note(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = err
	}
	return err
}

// failure is the first failure of storage, if there was one.
func (s *storedFiles) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

func manifestOf(v store.CourseVersion) bundle.Manifest {
	m := bundle.Manifest{ContentDigest: v.ContentDigest, SizeBytes: v.SizeBytes}
	for _, f := range v.Files {
		m.Files = append(m.Files, bundle.File{Path: f.Path, Role: bundle.Role(f.Role), ContentType: f.ContentType, SizeBytes: f.SizeBytes,
			SHA256: f.Sha256, Key: bundle.FileKey(v.CourseID, v.ID, f.Sha256)})
	}
	return m
}
