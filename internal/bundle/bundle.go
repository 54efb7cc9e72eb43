// Package bundle moves course bundles in and out of S3-compatible storage: it
// validates uploaded archives, gives every file a digest and a role, stores
// them, reads them back verified, and delivers single files safely.
//
// It knows nothing of the database. Whether a version exists and whether a
// ticket is still good is the store's to say.
package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/course-marketplace/backend/internal/market"
)

// The limits of an uploaded archive. docs/bundles.md states them to authors.
const (
	MaxPackedBytes   = 32 << 20  // the archive as uploaded
	MaxUnpackedBytes = 128 << 20 // the sum of its files
	MaxFiles         = 2000      // its files, directories not counted
	MaxPathBytes     = 512       // a file's path
	MaxSegmentBytes  = 255       // one name in a path: what common file systems take
)

// File is one file of a bundle.
type File struct {
	Path        string // relative, slash-separated
	Role        Role
	ContentType string // the true type; delivery may send a safer one
	SizeBytes   int64
	SHA256      string // lower-case hex
	Key         string // where storage holds it; empty for a bundle never stored
}

// Manifest says what a bundle consists of.
type Manifest struct {
	ContentDigest string // see ContentDigest
	SizeBytes     int64  // the sum of the files' sizes
	PackedBytes   int64  // the archive's size as uploaded
	MainFile      string // SKILL.md or COURSE.md; empty if the bundle has neither
	Files         []File // sorted by the bytes of their paths
}

// ContentDigest names the content of a bundle independently of how it was
// packed: "sha256:" and the SHA-256 of the lines "<sha256>  <path>\n" of all
// files, sorted by the bytes of the path. That is the output of sha256sum over
// the unpacked files, so anybody can recompute it; docs/bundles.md says how.
func ContentDigest(files []File) string {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, byPath)
	h := sha256.New()
	for _, f := range sorted {
		io.WriteString(h, f.SHA256+"  "+f.Path+"\n") //nolint:errcheck // a hash never fails
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func byPath(a, b File) int { return strings.Compare(a.Path, b.Path) }

// newManifest sorts the files and sums them up.
func newManifest(files []File, packed int64) Manifest {
	slices.SortFunc(files, byPath)
	m := Manifest{ContentDigest: ContentDigest(files), PackedBytes: packed, Files: files}
	for _, f := range files {
		m.SizeBytes += f.SizeBytes
		if f.Role == RoleMain {
			m.MainFile = f.Path
		}
	}
	return m
}

// Bundle is a bundle whose files can be read, wherever they lie. It is safe for
// concurrent use until it is closed.
type Bundle struct {
	Manifest

	open  func(context.Context, File) (io.ReadCloser, error)
	close func() error
}

// Open reads one file. The reader fails with code "digest_mismatch" instead of
// ending when the bytes are not those of the manifest; what it returned before
// that is not to be acted on.
func (b *Bundle) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	i, found := slices.BinarySearchFunc(b.Files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
	if !found {
		return nil, market.NotFound("bundle_file")
	}
	body, err := b.open(ctx, b.Files[i])
	if err != nil {
		return nil, err
	}
	return verify(body, b.Files[i]), nil
}

// Close releases what the bundle holds, such as the temporary file of an
// unpacked archive.
func (b *Bundle) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// OpenStored reads a bundle from storage by its manifest, which the database
// keeps. Nothing is fetched before a file is opened.
func OpenStored(s *Storage, m Manifest) *Bundle {
	m.Files = slices.SortedFunc(slices.Values(m.Files), byPath)
	return &Bundle{
		Manifest: m,
		open: func(ctx context.Context, f File) (io.ReadCloser, error) {
			body, _, err := s.Get(ctx, f.Key)
			return body, err
		},
	}
}
