package bundle

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/course-marketplace/backend/internal/market"
)

// TestDocumentedDigestCommand runs what docs/bundles.md tells authors to run.
func TestDocumentedDigestCommand(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/bundles.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- digest -->\n```sh\n(.*?)```").FindSubmatch(docs)
	if block == nil {
		t.Fatal("docs/bundles.md has no digest command")
	}
	folder := t.TempDir()
	entries := []entry{
		file("SKILL.md", "# Skill\n"), file("a b/ü.md", "x"), file("a-b/c", "y"), file("a/-n", "z"),
		file("scripts/run.sh", "#!/bin/sh\n"), file(".hidden", ""), file("quote'\"$HOME`.txt", "q"), file("Zebra", "z"),
		file(".DS_Store", "ignored"), file("a/._x", "ignored"), file("__MACOSX/x", "ignored"),
	}
	writeFolder(t, folder, entries)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", string(block[1]))
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	hex, _, _ := strings.Cut(string(out), " ")
	b := mustUnpack(t, zipOf(t, entries...), Zip)
	if b.ContentDigest != "sha256:"+hex {
		t.Errorf("the command prints %s, the service %s", hex, b.ContentDigest)
	}
	local, err := ReadFolder(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	if local.ContentDigest != b.ContentDigest {
		t.Errorf("the folder's digest is %s, the archive's %s", local.ContentDigest, b.ContentDigest)
	}
}

func writeFolder(t *testing.T, folder string, entries []entry) {
	t.Helper()
	for _, e := range entries {
		path := filepath.Join(folder, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(e.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadFolderRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"symlink":    {func(path string) error { return os.Symlink("/etc/passwd", path) }, CodeSymlink},
		"named pipe": {func(path string) error { return syscall.Mkfifo(path, 0o600) }, CodeSpecialFile},
		"bad name":   {func(path string) error { return os.WriteFile(path+":", nil, 0o600) }, CodePathEscape},
		"nothing":    {func(string) error { return nil }, CodeEmpty},
		"too large": {func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, MaxUnpackedBytes+1)
		}, CodeTooLargeUnpacked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := tt.make(filepath.Join(folder, "entry")); err != nil {
				t.Fatal(err)
			}
			_, err := ReadFolder(t.Context(), folder)
			wantCode(t, err, market.KindRefused, tt.want)
		})
	}
}

// TestDigestIsTheContents packs random trees in every order and format: the
// digest depends on the files alone, and every file comes back from storage.
func TestDigestIsTheContents(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	rapid.Check(t, func(rt *rapid.T) {
		tree := drawTree(rt)
		first := mustUnpack(t, zipOf(t, tree...), Zip)
		shuffled := rapid.Permutation(tree).Draw(rt, "order")
		second, err := s.Ingest(t.Context(), upload(TarGz, strings.NewReader(string(tarGzOf(t, shuffled...)))))
		if err != nil {
			rt.Fatal(err)
		}
		if first.ContentDigest != second.ContentDigest || first.MainFile != second.MainFile {
			rt.Fatalf("%s (%s) became %s (%s)", first.ContentDigest, first.MainFile, second.ContentDigest, second.MainFile)
		}
		if len(second.Files) != len(tree) {
			rt.Fatalf("%d files became %d", len(tree), len(second.Files))
		}
		stored := OpenStored(s, *second)
		for _, e := range tree {
			body, err := stored.Open(t.Context(), e.name)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := io.ReadAll(body)
			_ = body.Close()
			if err != nil || string(got) != e.content {
				rt.Fatalf("%s: %q, %v", e.name, got, err)
			}
		}
		changed := append([]entry{}, tree...)
		changed[0].content += "!"
		if mustUnpack(t, zipOf(t, changed...), Zip).ContentDigest == first.ContentDigest {
			rt.Fatal("a change left the digest as it was")
		}
	})
}

// drawTree draws files whose paths do not collide, with one in the root so that
// no top-level directory is stripped.
func drawTree(rt *rapid.T) []entry {
	segment := rapid.StringMatching(`[a-zA-Z0-9_é日 &'+(-]{0,8}[a-z0-9日]`)
	name := rapid.SliceOfN(segment, 1, 4)
	content := rapid.StringN(0, 2000, 4000)
	tree := newPathTree()
	entries := []entry{file("SKILL.md", content.Draw(rt, "main"))}
	_ = tree.add("SKILL.md", false)
	for range rapid.IntRange(0, 6).Draw(rt, "files") {
		path, err := cleanPath(strings.Join(name.Draw(rt, "path"), "/"))
		if err != nil || path == "" || tree.add(path, false) != nil {
			continue
		}
		entries = append(entries, file(path, content.Draw(rt, "content")))
	}
	return entries
}
