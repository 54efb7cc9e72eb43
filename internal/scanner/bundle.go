package scanner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// The limits of a bundle (docs/capabilities.md and the upload path state the same).
const (
	MaxPackedBytes   = 32 << 20
	MaxUnpackedBytes = 128 << 20
	MaxFiles         = 2000
	// maxTextBytes is how much of one text file the layers parse; a longer one is
	// indeterminate, because a parser that stops early can't call the rest clean.
	maxTextBytes = 34 << 20
	// maxTextLines bounds the memory that lines of one or two characters would take.
	maxTextLines = 1_500_000
	sniffBytes   = 8 << 10
)

// File is one file of a bundle, read only when a layer asks for it.
type File struct {
	// Path is relative, slash separated and clean.
	Path string
	Size int64
	// Executable is the owner's execute bit, where the archive carries one.
	Executable bool
	// Open starts reading from the beginning; it may be called many times.
	Open func() (io.ReadCloser, error)
}

// Bundle is a course or skill under inspection.
type Bundle struct {
	Files []File

	once  sync.Once
	index map[string]int
	infos sync.Map // path -> fileInfo, so that five layers sniff a file once

	aboutOnce sync.Once
	about     bundleAbout
}

// MemoryBundle makes a bundle of what is already in memory, sorted by path.
func MemoryBundle(files map[string]string) *Bundle {
	b := &Bundle{}
	for name, content := range files {
		b.Files = append(b.Files, File{Path: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(content)), nil
		}})
	}
	sort.Slice(b.Files, func(i, j int) bool { return b.Files[i].Path < b.Files[j].Path })
	return b
}

func (b *Bundle) lookup(name string) (File, bool) {
	b.once.Do(func() {
		b.index = make(map[string]int, len(b.Files))
		for i, f := range b.Files {
			b.index[f.Path] = i
		}
	})
	i, ok := b.index[name]
	if !ok {
		return File{}, false
	}
	return b.Files[i], true
}

// MainFile is the bundle's instruction file: SKILL.md or COURSE.md at the root, or
// in the only folder at the root, as archives made of a folder have it.
func (b *Bundle) MainFile() (File, bool) {
	for _, dir := range []string{"", b.onlyFolder()} {
		for _, name := range []string{"SKILL.md", "COURSE.md"} {
			if f, ok := b.lookup(path.Join(dir, name)); ok {
				return f, true
			}
		}
	}
	return File{}, false
}

// Root is the folder that holds the main file, "" for the top of the bundle.
func (b *Bundle) Root() string {
	if f, ok := b.MainFile(); ok && strings.Contains(f.Path, "/") {
		return path.Dir(f.Path)
	}
	return ""
}

func (b *Bundle) onlyFolder() string {
	only := ""
	for _, f := range b.Files {
		dir, _, nested := strings.Cut(f.Path, "/")
		if !nested || (only != "" && dir != only) {
			return ""
		}
		only = dir
	}
	return only
}

var errTooLarge = errors.New("larger than the scanner reads")

// readText returns a text file's content as valid UTF-8 (UTF-16 is converted).
func (f File) readText() (string, error) {
	data, err := f.read(maxTextBytes)
	if err != nil {
		return "", err
	}
	if bytes.Count(data, []byte{'\n'}) > maxTextLines {
		return "", errTooLarge
	}
	return decodeText(data), nil
}

func (f File) read(limit int64) ([]byte, error) {
	if f.Size > limit {
		return nil, errTooLarge
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	defer r.Close()
	var buf bytes.Buffer
	if f.Size > 0 {
		buf.Grow(int(f.Size) + bytes.MinRead)
	}
	// A size that lies must not fill the memory.
	n, err := io.Copy(&buf, io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	if n > limit {
		return nil, errTooLarge
	}
	return buf.Bytes(), nil
}

func (f File) head() ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, sniffBytes))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	return head, nil
}

func (b *Bundle) inspect(f File) (fileInfo, error) {
	if known, ok := b.infos.Load(f.Path); ok {
		return known.(fileInfo), nil
	}
	head, err := f.head()
	if err != nil {
		return fileInfo{}, err
	}
	info := classify(f.Path, head)
	if main, ok := b.MainFile(); ok && main.Path == f.Path {
		info.role = roleMain
	} else if info.role == roleTest && info.isCode() && b.startedByMain(f.Path) {
		info.role = roleScript
	}
	b.infos.Store(f.Path, info)
	return info, nil
}

// readReason is what a finding says about a read error, without paths of the host.
func readReason(err error) string {
	if errors.Is(err, errTooLarge) {
		return fmt.Sprintf("it is larger than %d MiB or has more than %d lines.", maxTextBytes>>20, maxTextLines)
	}
	return "its content is not available."
}

func decodeText(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return utf16Text(data[2:], true)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return utf16Text(data[2:], false)
	}
	data = bytes.ReplaceAll(data, []byte{0}, nil)
	if utf8.Valid(data) {
		return string(data)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

func utf16Text(data []byte, little bool) string {
	var sb strings.Builder
	for i := 0; i+1 < len(data); i += 2 {
		hi, lo := data[i], data[i+1]
		if little {
			hi, lo = lo, hi
		}
		sb.WriteRune(rune(hi)<<8 | rune(lo))
	}
	return sb.String()
}
