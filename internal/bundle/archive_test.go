package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/course-marketplace/backend/internal/market"
)

// entry is one entry of an archive under test.
type entry struct {
	name    string
	content string
	tarType byte
	pax     map[string]string
	zipMode uint32 // Unix mode
	method  uint16
	flags   uint16
}

func file(name, content string) entry { return entry{name: name, content: content} }

func zipOf(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: e.method, Flags: e.flags, ExternalAttrs: e.zipMode << 16}
		if e.method == 0 && e.name != "" && e.name[len(e.name)-1] != '/' {
			header.Method = zip.Deflate
		}
		f, err := w.CreateHeader(header)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write([]byte(e.content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func tarOf(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.tarType, Mode: 0o644, PAXRecords: e.pax}
		switch e.tarType {
		case 0, tar.TypeReg:
			header.Typeflag, header.Size = tar.TypeReg, int64(len(e.content))
		case tar.TypeSymlink, tar.TypeLink:
			header.Linkname = e.content
		}
		if e.tarType == tar.TypeXGlobalHeader {
			header = &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: e.pax}
		}
		if err := w.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(e.content)); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func tarGzOf(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	return gzipped(tb, tarOf(tb, entries...))
}

func unpackBytes(tb testing.TB, archive []byte, format Format) (*Bundle, error) {
	tb.Helper()
	b, err := Unpack(tb.Context(), bytes.NewReader(archive), format, tb.TempDir())
	if err == nil {
		tb.Cleanup(func() { _ = b.Close() })
	}
	return b, err
}

func mustUnpack(tb testing.TB, archive []byte, format Format) *Bundle {
	tb.Helper()
	b, err := unpackBytes(tb, archive, format)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func wantCode(tb testing.TB, err error, kind market.Kind, code string) {
	tb.Helper()
	e, ok := market.AsError(err)
	if !ok || e.Kind != kind || e.Code != code {
		tb.Fatalf("got %v, want %s (%s)", err, code, kind)
	}
}

func sum(content string) string {
	s := sha256.Sum256([]byte(content))
	return hex.EncodeToString(s[:])
}

func paths(m Manifest) []string {
	out := make([]string, len(m.Files))
	for i, f := range m.Files {
		out[i] = f.Path
	}
	return out
}

func base64Sum(content string) string {
	s := sha256.Sum256([]byte(content))
	return base64.StdEncoding.EncodeToString(s[:])
}
