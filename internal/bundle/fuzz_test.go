package bundle

import (
	"archive/tar"
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/internal/market"
)

func FuzzIngestZip(f *testing.F) {
	good := zipOf(f, file("c/SKILL.md", "hellohellohello"), file("c/a/b", "x"))
	f.Add(good)
	f.Add(good[:len(good)-5])
	f.Add(zipOf(f, file("../evil", "x")))
	f.Add(zipOf(f, entry{name: "link", content: "/etc/passwd", zipMode: 0o120777}))
	f.Add(zip64Of(f, file("SKILL.md", "hello")))
	f.Fuzz(func(t *testing.T, archive []byte) { checkUnpack(t, archive, Zip) })
}

// FuzzIngestTarGz takes a tar: a mutated gzip stream seldom gets past its
// checksum.
func FuzzIngestTarGz(f *testing.F) {
	f.Add(tarOf(f, file("c/SKILL.md", "hello"), file("c/"+strings.Repeat("long/", 60)+"x", "x")))
	f.Add(tarOf(f, file("日本", "x"), entry{name: "link", content: "/etc/passwd", tarType: tar.TypeSymlink}))
	f.Add(tarOf(f, file("../evil", "x")))
	f.Fuzz(func(t *testing.T, archive []byte) {
		checkUnpack(t, archive, TarGz)
		checkUnpack(t, gzipped(t, archive), TarGz)
	})
}

// checkUnpack states what holds for any input: a refusal in the market's terms,
// or files within the limits whose paths stay inside.
func checkUnpack(t *testing.T, archive []byte, format Format) {
	t.Helper()
	b, err := Unpack(t.Context(), bytes.NewReader(archive), format, "")
	if err != nil {
		if e, ok := market.AsError(err); !ok || e.Retryable() {
			t.Fatalf("not a refusal: %v", err)
		}
		return
	}
	defer func() { _ = b.Close() }()
	if len(b.Files) == 0 || len(b.Files) > MaxFiles || b.SizeBytes > MaxUnpackedBytes {
		t.Fatalf("%d files of %d bytes", len(b.Files), b.SizeBytes)
	}
	tree := newPathTree()
	for _, f := range b.Files {
		if clean, err := cleanPath(f.Path); err != nil || clean != f.Path || !filepath.IsLocal(f.Path) {
			t.Fatalf("unsafe path %q: %v", f.Path, err)
		}
		if err := tree.add(f.Path, false); err != nil {
			t.Fatal(err)
		}
		body, err := b.Open(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, body); err != nil || n != f.SizeBytes {
			t.Fatalf("%q reads as %d bytes, %v", f.Path, n, err)
		}
	}
}
