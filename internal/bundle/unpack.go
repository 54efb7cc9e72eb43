package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/course-marketplace/backend/internal/market"
)

// What real archives stay far below and bombs do not.
const (
	// maxEntries bounds files, directories and ignored entries together.
	maxEntries = 5 * MaxFiles
	// maxRatio is the most an archive may grow by once it has grown past
	// ratioFloorBytes; text seldom shrinks to less than a twentieth.
	maxRatio        = 100
	ratioFloorBytes = 16 << 20
)

// Unpack reads a whole archive, refuses it for any reason docs/bundles.md
// lists, and returns its files as a bundle held in an unnamed temporary file in
// dir (the system's directory if empty). The caller closes the bundle. Memory
// use does not depend on the archive's size.
func Unpack(ctx context.Context, body io.Reader, format Format, dir string) (*Bundle, error) {
	u, err := unpack(ctx, body, format, dir)
	if err != nil {
		return nil, err
	}
	return u.bundle(), nil
}

// unpacked is a validated archive: every file's content, one after the other,
// in one spool.
type unpacked struct {
	content     *spool
	files       []unpackedFile
	packedBytes int64
}

type unpackedFile struct {
	File
	offset int64
	traits traits
}

// Close frees the disk space.
func (u *unpacked) Close() error { return u.content.Close() }

func (u *unpacked) bundle() *Bundle {
	offsets := make(map[string]int64, len(u.files))
	files := make([]File, len(u.files))
	for i, f := range u.files {
		files[i] = f.File
		offsets[f.Path] = f.offset
	}
	return &Bundle{
		Manifest: newManifest(files, u.packedBytes),
		open: func(_ context.Context, f File) (io.ReadCloser, error) {
			return io.NopCloser(u.content.section(offsets[f.Path], f.SizeBytes)), nil
		},
		close: u.Close,
	}
}

func unpack(ctx context.Context, body io.Reader, format Format, dir string) (*unpacked, error) {
	read := (*extraction).readZip
	switch format {
	case Zip:
	case TarGz:
		read = (*extraction).readTarGz
	default:
		return nil, unsupportedType()
	}
	packed, err := spoolBody(body, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	return extract(ctx, dir, packed.size, func(x *extraction) error { return read(x, packed) })
}

// extract collects the files that read adds.
func extract(ctx context.Context, dir string, packedBytes int64, read func(*extraction) error) (*unpacked, error) {
	content, err := newSpool(dir)
	if err != nil {
		return nil, err
	}
	x := &extraction{
		ctx: ctx, tree: newPathTree(), buffer: make([]byte, copyBufferBytes),
		unpacked: &unpacked{content: content, packedBytes: packedBytes},
	}
	err = read(x)
	if err == nil && len(x.files) == 0 {
		err = market.Refused(CodeEmpty, "The archive holds no files.")
	}
	if err != nil {
		_ = content.Close()
		return nil, err
	}
	x.stripTopDirectory()
	x.describe()
	return x.unpacked, nil
}

// extraction is the state of one pass over an archive.
type extraction struct {
	*unpacked

	ctx      context.Context
	tree     *pathTree
	entries  int
	total    int64 // sum of the files' sizes so far
	inflated int64 // bytes decompressed so far, headers and ignored files included
	buffer   []byte
}

// enter registers an entry's path. It returns "" for an entry that is to be
// skipped because packing tools add it.
func (x *extraction) enter(name string, dir bool) (string, error) {
	if err := x.ctx.Err(); err != nil {
		return "", err
	}
	x.entries++
	if x.entries > maxEntries {
		return "", tooManyFiles()
	}
	path, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	if !dir && (path == "" || strings.HasSuffix(name, "/")) {
		return "", atPath(malformed("A file has no name."), name)
	}
	if path == "" || ignored(path) {
		return "", nil
	}
	return path, x.tree.add(path, dir)
}

// add unpacks one file of the declared size.
func (x *extraction) add(path string, declared int64, content io.Reader) error {
	if len(x.files) == MaxFiles {
		return tooManyFiles()
	}
	if err := x.reserve(declared); err != nil {
		return err
	}
	sum, offset := sha256.New(), x.content.size
	head := &headWriter{}
	bounded := io.LimitReader(content, declared+1)
	n, err := io.CopyBuffer(io.MultiWriter(x.content, sum, head), bounded, x.buffer)
	if err != nil {
		return malformedBy(err, "a file in it")
	}
	if n != declared {
		return atPath(malformed("A file's size differs from the size its header declares."), path)
	}
	x.files = append(x.files, unpackedFile{
		File:   File{Path: path, SizeBytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))},
		offset: offset, traits: traitsOf(head.bytes),
	})
	return nil
}

// reserve refuses a file by its declared size, before a byte of it is unpacked.
func (x *extraction) reserve(declared int64) error {
	if declared < 0 {
		return malformed("A file declares a negative size.")
	}
	if declared > MaxUnpackedBytes || x.total+declared > MaxUnpackedBytes {
		if x.bombSized(declared) {
			return ratioBomb()
		}
		return tooLargeUnpacked()
	}
	x.total += declared
	return nil
}

// inflate wraps a decompressor so that everything that comes out of it counts.
func (x *extraction) inflate(r io.Reader) io.Reader { return &meteredReader{r: r, x: x} }

// bombSized is false for a folder, which was never packed.
func (x *extraction) bombSized(more int64) bool {
	if x.packedBytes == 0 {
		return false
	}
	grown := x.inflated + more
	return grown < 0 || grown > ratioFloorBytes && grown/maxRatio > x.packedBytes
}

func ratioBomb() error {
	return bomb("The archive unpacks to more than 100 times its size.")
}

type meteredReader struct {
	r io.Reader
	x *extraction
}

func (m *meteredReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.x.inflated += int64(n)
	switch {
	case m.x.bombSized(0):
		return n, ratioBomb()
	case m.x.inflated > MaxUnpackedBytes+maxOverheadBytes:
		return n, tooLargeUnpacked()
	case err != nil && !errors.Is(err, io.EOF):
		return n, malformedBy(err, "its compressed data")
	}
	return n, err
}

// maxOverheadBytes is what headers, padding and ignored entries may add to the
// decompressed stream of a tar.
const maxOverheadBytes = 32 << 20

// stripTopDirectory removes the one directory everything lies in, which zipping
// a folder or a code host's archive of a repository adds.
func (x *extraction) stripTopDirectory() {
	paths := make([]string, len(x.files))
	for i, f := range x.files {
		paths[i] = f.Path
	}
	top := topDirectory(paths)
	for i := range x.files {
		x.files[i].Path = strings.TrimPrefix(x.files[i].Path, top)
	}
}

// describe gives every file its role and content type, which depend on the
// final paths.
func (x *extraction) describe() {
	main := ""
	for _, f := range x.files {
		main = betterMain(main, f.Path)
	}
	for i := range x.files {
		f := &x.files[i]
		f.Role, f.ContentType = describe(f.Path, f.traits, f.Path == main)
	}
}

// headBytes is how much of a file is looked at to tell text from binary.
const headBytes = 512

type headWriter struct{ bytes []byte }

func (h *headWriter) Write(p []byte) (int, error) {
	h.bytes = append(h.bytes, p[:min(len(p), headBytes-len(h.bytes))]...)
	return len(p), nil
}

// traits is what the beginning of a file tells about it.
type traits struct {
	shebang bool
	text    bool
}

func traitsOf(head []byte) traits {
	return traits{shebang: bytes.HasPrefix(head, []byte("#!")), text: isText(head)}
}
