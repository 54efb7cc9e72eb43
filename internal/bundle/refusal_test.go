package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/course-marketplace/backend/internal/market"
)

func TestUnpackRefusesBothFormats(t *testing.T) {
	t.Parallel()
	main := file("SKILL.md", "x")
	tests := []struct {
		name    string
		entries []entry
		want    string
	}{
		{"parent", []entry{main, file("../evil", "x")}, CodePathEscape},
		{"parent inside", []entry{main, file("a/../../evil", "x")}, CodePathEscape},
		{"parent that stays inside", []entry{main, file("a/../b", "x")}, CodePathEscape},
		{"absolute", []entry{main, file("/etc/passwd", "x")}, CodePathEscape},
		{"drive letter", []entry{main, file("C:evil", "x")}, CodePathEscape},
		{"alternate data stream", []entry{main, file("a:b", "x")}, CodePathEscape},
		{"backslash", []entry{main, file(`..\evil`, "x")}, CodePathEscape},
		{"newline", []entry{main, file("a\nb", "x")}, CodePathEscape},
		{"C1 control", []entry{main, file("a\u0085b", "x")}, CodePathEscape},
		{"right-to-left override", []entry{main, file("a\u202egnp.sh", "x")}, CodePathEscape},
		{"device name", []entry{main, file("a/Aux.md", "x")}, CodePathEscape},
		{"trailing dot", []entry{main, file("a./b", "x")}, CodePathEscape},
		{"trailing space", []entry{main, file("a ", "x")}, CodePathEscape},
		{"long segment", []entry{main, file(strings.Repeat("a", 256), "x")}, CodePathEscape},
		{"long path", []entry{main, file(strings.Repeat("abcdefghi/", 52)+"f", "x")}, CodePathEscape},
		{"standard input", []entry{main, file("-", "x")}, CodePathEscape},
		{"hidden among ignored", []entry{main, file("__MACOSX/../../evil", "x")}, CodePathEscape},
		{"same path", []entry{main, main}, CodeDuplicatePath},
		{"same after cleaning", []entry{main, file("./SKILL.md", "x")}, CodeDuplicatePath},
		{"same but for case", []entry{main, file("skill.MD", "x")}, CodeDuplicatePath},
		{"same but for special case folding", []entry{file("straße", "x"), file("STRASSE", "x")}, CodeDuplicatePath},
		{"same but for Unicode form", []entry{file("caf\u00e9", "x"), file("cafe\u0301", "x")}, CodeDuplicatePath},
		{"directories differ in case", []entry{main, file("Docs/a", "x"), file("docs/b", "x")}, CodeDuplicatePath},
		{"file where a directory is", []entry{file("a/b", "x"), file("a", "x")}, CodeDuplicatePath},
		{"directory where a file is", []entry{file("a", "x"), file("a/b", "x")}, CodeDuplicatePath},
		{"no entries", nil, CodeEmpty},
		{"only directories", []entry{{name: "a/", tarType: tar.TypeDir}}, CodeEmpty},
		{"only ignored files", []entry{file(".DS_Store", "x")}, CodeEmpty},
		{"invalid UTF-8", []entry{main, file("a\xff", "x")}, CodeMalformed},
		{"too many files", numbered(MaxFiles + 1), CodeTooManyFiles},
		{"too many directories", deep(100, 120), CodeTooManyFiles},
		{"too many entries", slices.Repeat([]entry{file(".DS_Store", "")}, maxEntries+1), CodeTooManyFiles},
		{"bomb", []entry{main, file("zeros", strings.Repeat("\x00", 20<<20))}, CodeBomb},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			both(t, tt.entries, func(t *testing.T, _ *Bundle, err error) { wantCode(t, err, market.KindRefused, tt.want) })
		})
	}
}

func numbered(n int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = file(fmt.Sprintf("f%04d", i), "x")
	}
	return entries
}

func deep(n, levels int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = file(fmt.Sprintf("%d%s", i, strings.Repeat("/d", levels)), "x")
	}
	return entries
}

func TestUnpackTakesTheMostFiles(t *testing.T) {
	t.Parallel()
	both(t, numbered(MaxFiles), func(t *testing.T, b *Bundle, err error) {
		if err != nil || len(b.Files) != MaxFiles {
			t.Fatal(err)
		}
	})
}

func TestUnpackRefusesTarEntries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		entry entry
		want  string
	}{
		"symlink":          {entry{name: "a", tarType: tar.TypeSymlink, content: "/etc/passwd"}, CodeSymlink},
		"hard link":        {entry{name: "a", tarType: tar.TypeLink, content: "SKILL.md"}, CodeSpecialFile},
		"character device": {entry{name: "a", tarType: tar.TypeChar}, CodeSpecialFile},
		"block device":     {entry{name: "a", tarType: tar.TypeBlock}, CodeSpecialFile},
		"named pipe":       {entry{name: "a", tarType: tar.TypeFifo}, CodeSpecialFile},
		"contiguous file":  {entry{name: "a", tarType: tar.TypeCont}, CodeSpecialFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unpackBytes(t, tarGzOf(t, file("SKILL.md", "x"), tt.entry), TarGz)
			wantCode(t, err, market.KindRefused, tt.want)
		})
	}
}

func TestUnpackRefusesZipEntries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		entry entry
		want  string
	}{
		"symlink":              {entry{name: "a", content: "/etc/passwd", zipMode: 0o120777}, CodeSymlink},
		"device":               {entry{name: "a", zipMode: 0o020666}, CodeSpecialFile},
		"named pipe":           {entry{name: "a", zipMode: 0o010666}, CodeSpecialFile},
		"encrypted":            {entry{name: "a", content: "x", flags: flagEncrypted}, CodeEncrypted},
		"strongly encrypted":   {entry{name: "a", content: "x", flags: flagStrongEncrypted}, CodeEncrypted},
		"directory of content": {entry{name: "a", content: "x", zipMode: 0o040755}, CodeMalformed},
		"NUL in the name":      {entry{name: "a\x00b", content: "x"}, CodePathEscape},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unpackBytes(t, zipOf(t, file("SKILL.md", "x"), tt.entry), Zip)
			wantCode(t, err, market.KindRefused, tt.want)
		})
	}
}

// TestUnpackRefusesDamage edits a good archive; "SKILL.md" is its first entry.
func TestUnpackRefusesDamage(t *testing.T) {
	t.Parallel()
	goodZip := zipOf(t, file("SKILL.md", "hellohellohello"), file("b", "x"))
	goodTar := tarOf(t, file("SKILL.md", "hello"))
	goodTarGz := gzipped(t, goodTar)
	central := bytes.Index(goodZip, []byte("PK\x01\x02"))
	tests := []struct {
		name    string
		format  Format
		archive []byte
		want    string
	}{
		{"zip: nothing", Zip, nil, CodeMalformed},
		{"zip: garbage", Zip, []byte("not a zip"), CodeMalformed},
		{"zip: a tar.gz", Zip, goodTarGz, CodeMalformed},
		{"zip: cut off", Zip, goodZip[:len(goodZip)-10], CodeMalformed},
		{"zip: trailing data", Zip, append(bytes.Clone(goodZip), "more"...), CodeMalformed},
		{"zip: leading data", Zip, append([]byte("#!/bin/sh\n"), goodZip...), CodeMalformed},
		{"zip: other local name", Zip, patched(goodZip, 30, "SKULL"), CodeMalformed},
		{"zip: other local method", Zip, patched(goodZip, 8, "\x00"), CodeMalformed},
		{"zip: wrong checksum", Zip, patched(goodZip, central+16, "\x01\x02\x03\x04"), CodeMalformed},
		{"zip: wrong size", Zip, patched(goodZip, central+24, "\x03"), CodeMalformed},
		{"zip: unknown method", Zip, patched(patched(goodZip, 8, "\x0c"), central+10, "\x0c"), CodeMalformed},
		{"zip: wrong local offset", Zip, patched(goodZip, central+42, "\x07"), CodeMalformed},
		{"zip: overlapping entries", Zip, patched(goodZip, central+20, "\xff"), CodeBomb},
		{"zip: wrong number of records", Zip, patched(goodZip, len(goodZip)-12, "\x01"), CodeMalformed},
		{"zip: damaged data", Zip, patched(goodZip, 40, "\xff\xff\xff"), CodeMalformed},
		{"tar.gz: nothing", TarGz, nil, CodeMalformed},
		{"tar.gz: a zip", TarGz, goodZip, CodeMalformed},
		{"tar.gz: not a tar", TarGz, gzipped(t, bytes.Repeat([]byte("x"), 1024)), CodeMalformed},
		{"tar.gz: cut off", TarGz, goodTarGz[:len(goodTarGz)-10], CodeMalformed},
		{"tar.gz: cut-off tar", TarGz, gzipped(t, goodTar[:514]), CodeMalformed},
		{"tar.gz: wrong checksum", TarGz, patched(goodTarGz, len(goodTarGz)-8, "\x00\x00\x00\x00"), CodeMalformed},
		{"tar.gz: trailing data", TarGz, append(bytes.Clone(goodTarGz), "more"...), CodeMalformed},
		{"tar.gz: a second tar", TarGz, gzipped(t, append(bytes.Clone(goodTar), goodTar...)), CodeMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := unpackBytes(t, tt.archive, tt.format)
			wantCode(t, err, market.KindRefused, tt.want)
		})
	}
}

func patched(archive []byte, at int, with string) []byte {
	p := bytes.Clone(archive)
	copy(p[at:], with)
	return p
}

func TestUnpackRefusesSparseFiles(t *testing.T) {
	t.Parallel()
	// The oldest GNU form: type 'S' and the map of holes inside the header.
	header := tarOf(t, file("hole", ""))[:512]
	header[156] = 'S'
	copy(header[257:], "ustar  \x00")
	copy(header[386:], "00000000000\x0000000000000\x00") // one region of no bytes
	copy(header[483:], "00000000000\x00")                // the real size
	copy(header[148:], "        ")
	var check int
	for _, b := range header {
		check += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", check))
	_, err := unpackBytes(t, gzipped(t, append(header, make([]byte, 1024)...)), TarGz)
	wantCode(t, err, market.KindRefused, CodeSpecialFile)
}

func TestUnpackRefusesTooMuch(t *testing.T) {
	t.Parallel()
	random := make([]byte, 3<<20)
	_, _ = rand.Read(random)
	// Compresses by less than the bomb's ratio, yet unpacks to over 128 MiB.
	half := file("half", strings.Repeat(string(random)+strings.Repeat("x", 62<<20), 1))
	entries := []entry{half, file("other", half.content)}
	both(t, entries, func(t *testing.T, _ *Bundle, err error) { wantCode(t, err, market.KindRefused, CodeTooLargeUnpacked) })
}

func TestUnpackRefusesTooLarge(t *testing.T) {
	t.Parallel()
	_, err := Unpack(t.Context(), io.LimitReader(rand.Reader, MaxPackedBytes+1), Zip, t.TempDir())
	wantCode(t, err, market.KindTooLarge, CodeTooLarge)

	limited := iotest.ErrReader(fmt.Errorf("reading: %w", &http.MaxBytesError{Limit: 1}))
	_, err = Unpack(t.Context(), limited, Zip, t.TempDir())
	wantCode(t, err, market.KindTooLarge, CodeTooLarge)
}

func TestUnpackCutOff(t *testing.T) {
	t.Parallel()
	archive := zipOf(t, file("SKILL.md", "x"))
	body := io.MultiReader(bytes.NewReader(archive[:20]), iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err := Unpack(t.Context(), body, Zip, t.TempDir())
	wantCode(t, err, market.KindRefused, CodeIncomplete)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
}

func TestUnpackWithoutDisk(t *testing.T) {
	t.Parallel()
	_, err := Unpack(t.Context(), strings.NewReader("x"), Zip, t.TempDir()+"/absent")
	wantCode(t, err, market.KindUnavailable, "upload_spool_unavailable")
}

// TestZipDirectoryBomb is an archive that is nothing but directory records: its
// names alone would take many times its size in memory.
func TestZipDirectoryBomb(t *testing.T) {
	t.Parallel()
	record := make([]byte, centralHeaderBytes)
	binary.LittleEndian.PutUint32(record, sigCentralHeader)
	directory := bytes.Repeat(record, 600_000)
	end := make([]byte, endBytes)
	binary.LittleEndian.PutUint32(end, sigEnd)
	binary.LittleEndian.PutUint16(end[10:], 1000)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(directory)))
	_, err := unpackBytes(t, append(directory, end...), Zip)
	wantCode(t, err, market.KindRefused, CodeMalformed)
}
