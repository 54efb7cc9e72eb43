package bundle

import (
	"archive/tar"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// both runs a test for the two formats.
func both(t *testing.T, entries []entry, check func(*testing.T, *Bundle, error)) {
	t.Helper()
	t.Run("zip", func(t *testing.T) {
		t.Parallel()
		b, err := unpackBytes(t, zipOf(t, entries...), Zip)
		check(t, b, err)
	})
	t.Run("tar.gz", func(t *testing.T) {
		t.Parallel()
		b, err := unpackBytes(t, tarGzOf(t, entries...), TarGz)
		check(t, b, err)
	})
}

func TestUnpackDescribesFiles(t *testing.T) {
	t.Parallel()
	entries := []entry{
		file("scripts/run", "#!/bin/sh\necho hi\n"),
		file("SKILL.md", "# Skill\n"),
		file("COURSE.md", "# Course\n"),
		file("LICENSE-MIT", "Permission"),
		file("capabilities.yaml", "schema_version: \"1\"\n"),
		file("references/notes.html", "<p>"),
		file("tools/build.py", "print()"),
		file("logo.png", "\x89PNG\x00"),
		file("empty", ""),
		file("scripts/README.md", "read"),
		file("scripts/data.bin", "\x00\x01"),
	}
	want := []File{
		{Path: "COURSE.md", Role: RoleReference, ContentType: "text/markdown; charset=utf-8", SizeBytes: 9, SHA256: sum("# Course\n")},
		{Path: "LICENSE-MIT", Role: RoleLicense, ContentType: textPlain, SizeBytes: 10, SHA256: sum("Permission")},
		{Path: "SKILL.md", Role: RoleMain, ContentType: "text/markdown; charset=utf-8", SizeBytes: 8, SHA256: sum("# Skill\n")},
		{Path: "capabilities.yaml", Role: RoleManifest, ContentType: "application/yaml", SizeBytes: 20, SHA256: sum("schema_version: \"1\"\n")},
		{Path: "empty", Role: RoleAsset, ContentType: textPlain, SHA256: sum("")},
		{Path: "logo.png", Role: RoleAsset, ContentType: "image/png", SizeBytes: 5, SHA256: sum("\x89PNG\x00")},
		{Path: "references/notes.html", Role: RoleReference, ContentType: "text/html; charset=utf-8", SizeBytes: 3, SHA256: sum("<p>")},
		{Path: "scripts/README.md", Role: RoleReference, ContentType: "text/markdown; charset=utf-8", SizeBytes: 4, SHA256: sum("read")},
		{Path: "scripts/data.bin", Role: RoleScript, ContentType: octetStream, SizeBytes: 2, SHA256: sum("\x00\x01")},
		{Path: "scripts/run", Role: RoleScript, ContentType: textPlain, SizeBytes: 18, SHA256: sum("#!/bin/sh\necho hi\n")},
		{Path: "tools/build.py", Role: RoleScript, ContentType: textPlain, SizeBytes: 7, SHA256: sum("print()")},
	}
	both(t, entries, func(t *testing.T, b *Bundle, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.Files); diff != "" {
			t.Error(diff)
		}
		if b.MainFile != "SKILL.md" || b.SizeBytes != 86 || b.PackedBytes == 0 {
			t.Errorf("main %q, size %d, packed %d", b.MainFile, b.SizeBytes, b.PackedBytes)
		}
		body, err := b.Open(t.Context(), "tools/build.py")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != "print()" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestUnpackAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []entry
		want    []string
		main    string
	}{
		{"one top-level directory", []entry{{name: "course-1/", tarType: tar.TypeDir}, file("course-1/COURSE.md", "x"), file("course-1/a/b", "x")}, []string{"COURSE.md", "a/b"}, "COURSE.md"},
		{"only one level is stripped", []entry{file("a/b/SKILL.md", "x")}, []string{"b/SKILL.md"}, ""},
		{"two top-level directories", []entry{file("a/SKILL.md", "x"), file("b/x", "x")}, []string{"a/SKILL.md", "b/x"}, ""},
		{"macOS additions", []entry{file("c/SKILL.md", "x"), file("__MACOSX/c/._SKILL.md", "x"), file("c/.DS_Store", "x"), file("c/._SKILL.md", "x")}, []string{"SKILL.md"}, "SKILL.md"},
		{"dot segments", []entry{{name: "./", tarType: tar.TypeDir}, file("./SKILL.md", "x"), file("./a//b", "x")}, []string{"SKILL.md", "a/b"}, "SKILL.md"},
		{"no main file", []entry{file("readme.md", "x")}, []string{"readme.md"}, ""},
		{"names in other scripts", []entry{file("SKILL.md", "x"), file("курс/日本語.md", "x"), file("naïve & co.md", "x")}, []string{"SKILL.md", "naïve & co.md", "курс/日本語.md"}, "SKILL.md"},
		{"long names", []entry{file("SKILL.md", "x"), file(strings.Repeat("d", 200)+"/"+strings.Repeat("f", 255), "x")}, []string{"SKILL.md", strings.Repeat("d", 200) + "/" + strings.Repeat("f", 255)}, "SKILL.md"},
		{"repeated directory", []entry{{name: "a/", tarType: tar.TypeDir}, {name: "a/", tarType: tar.TypeDir}, file("a/x", "1"), file("b", "2")}, []string{"a/x", "b"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			both(t, tt.entries, func(t *testing.T, b *Bundle, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(paths(b.Manifest), tt.want) || b.MainFile != tt.main {
					t.Errorf("got %q, main %q", paths(b.Manifest), b.MainFile)
				}
			})
		})
	}
}

func TestUnpackAcceptsGlobalPaxHeader(t *testing.T) {
	t.Parallel()
	archive := tarGzOf(t,
		entry{tarType: tar.TypeXGlobalHeader, pax: map[string]string{"comment": "0123456789abcdef"}},
		file("repo-0123/SKILL.md", "x"))
	if b := mustUnpack(t, archive, TarGz); b.MainFile != "SKILL.md" {
		t.Errorf("main file %q", b.MainFile)
	}
}

func TestOpenUnknownFile(t *testing.T) {
	t.Parallel()
	b := mustUnpack(t, zipOf(t, file("SKILL.md", "x")), Zip)
	_, err := b.Open(t.Context(), "other")
	wantCode(t, err, "not_found", "bundle_file_not_found")
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]Format{
		"application/zip": Zip, "Application/ZIP; charset=binary": Zip, "application/gzip": TarGz, "application/x-gzip": TarGz,
	} {
		if got, err := FormatOf(contentType); err != nil || got != want {
			t.Errorf("%s: %s, %v", contentType, got, err)
		}
	}
	_, err := FormatOf("application/json")
	wantCode(t, err, "unsupported", CodeUnsupportedType)
}
