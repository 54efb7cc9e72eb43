package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/course-marketplace/backend/internal/market"
)

// verifyingReader checks size and digest while it is read. It keeps back the
// last bytes until the digest is known to be right, so that nobody ever holds
// the whole of a wrong file.
type verifyingReader struct {
	body io.ReadCloser
	file File
	hash hash.Hash
	read int64
	err  error
}

func verify(body io.ReadCloser, f File) io.ReadCloser {
	return &verifyingReader{body: body, file: f, hash: sha256.New()}
}

func (v *verifyingReader) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.body.Read(p)
	v.hash.Write(p[:n])
	v.read += int64(n)
	switch {
	case v.read > v.file.SizeBytes, v.read == v.file.SizeBytes && !v.digestMatches():
		v.err = v.mismatch()
		return 0, v.err
	case errors.Is(err, io.EOF) && v.read < v.file.SizeBytes:
		v.err = v.mismatch()
	default:
		v.err = err
	}
	return n, v.err
}

// Close closes the file.
func (v *verifyingReader) Close() error { return v.body.Close() }

func (v *verifyingReader) digestMatches() bool {
	return hex.EncodeToString(v.hash.Sum(nil)) == v.file.SHA256
}

func (v *verifyingReader) mismatch() error {
	return market.Conflict("digest_mismatch", "The stored file differs from what was uploaded; it was not delivered.").
		With("path", v.file.Path)
}
