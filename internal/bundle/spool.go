package bundle

import (
	"errors"
	"io"
	"os"
)

// copyBufferBytes is the memory one copy takes, whatever the size of the file.
const copyBufferBytes = 64 << 10

// spool is an unnamed temporary file: uploads wait on disk, not in memory, and
// a crash leaves nothing behind because the name is removed at once.
type spool struct {
	file *os.File
	size int64
}

func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, "bundle-*")
	if err != nil {
		return nil, spoolError(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, spoolError(errors.Join(err, f.Close()))
	}
	return &spool{file: f}, nil
}

// Write appends. Its errors are the service's, not the author's.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	if err != nil {
		return n, spoolError(err)
	}
	return n, nil
}

// section reads a part of the spool; sections can be read at the same time.
func (s *spool) section(offset, size int64) *io.SectionReader {
	return io.NewSectionReader(s.file, offset, size)
}

// Close frees the disk space.
func (s *spool) Close() error { return s.file.Close() }

// spoolBody takes in a whole request body of at most MaxPackedBytes.
func spoolBody(body io.Reader, dir string) (*spool, error) {
	s, err := newSpool(dir)
	if err != nil {
		return nil, err
	}
	source := &sourceReader{r: io.LimitReader(body, MaxPackedBytes+1)}
	if _, err := io.CopyBuffer(s, source, make([]byte, copyBufferBytes)); err != nil {
		_ = s.Close()
		if source.err != nil {
			return nil, uploadError(source.err)
		}
		return nil, err
	}
	if s.size > MaxPackedBytes {
		_ = s.Close()
		return nil, tooLarge()
	}
	return s, nil
}

// sourceReader remembers its own failure, so that a copy's error can be told
// apart from the destination's.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
