package bundle

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/course-marketplace/backend/internal/market"
)

// zip64Of rewrites a zip's central directory and end in the zip64 form, which
// streaming packers write for small archives too.
func zip64Of(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	plain := zipOf(tb, entries...)
	le := binary.LittleEndian
	end := plain[len(plain)-endBytes:]
	start := int(le.Uint32(end[16:]))
	out := bytes.Clone(plain[:start])
	for rest := plain[start : len(plain)-endBytes]; len(rest) > 0; {
		nameLen, extraLen := int(le.Uint16(rest[28:])), int(le.Uint16(rest[30:]))
		record := bytes.Clone(rest[:centralHeaderBytes+nameLen+extraLen])
		rest = rest[len(record):]
		le.PutUint16(record[30:], uint16(extraLen+28))
		var field [28]byte
		le.PutUint16(field[0:], extraZip64)
		le.PutUint16(field[2:], 24)
		le.PutUint64(field[4:], uint64(le.Uint32(record[24:])))
		le.PutUint64(field[12:], uint64(le.Uint32(record[20:])))
		le.PutUint64(field[20:], uint64(le.Uint32(record[42:])))
		for _, at := range []int{20, 24, 42} {
			le.PutUint32(record[at:], 0xffffffff)
		}
		out = append(append(out, record...), field[:]...)
	}
	end64 := make([]byte, end64Bytes+end64LocatorBytes)
	le.PutUint32(end64, sigEnd64)
	le.PutUint64(end64[4:], end64Bytes-12)
	le.PutUint64(end64[24:], uint64(len(entries)))
	le.PutUint64(end64[32:], uint64(len(entries)))
	le.PutUint64(end64[40:], uint64(len(out)-start))
	le.PutUint64(end64[48:], uint64(start))
	le.PutUint32(end64[end64Bytes:], sigEnd64Locator)
	le.PutUint64(end64[end64Bytes+8:], uint64(len(out)))
	le.PutUint32(end64[end64Bytes+16:], 1)
	out = append(out, end64...)
	end = append(binary.LittleEndian.AppendUint32(nil, sigEnd), 0, 0, 0, 0)
	end = append(end, bytes.Repeat([]byte{0xff}, 12)...)
	return append(append(out, end...), 0, 0)
}

func TestUnpackZip64(t *testing.T) {
	t.Parallel()
	entries := []entry{file("SKILL.md", "hello, hello"), file("a/b", "x")}
	archive := zip64Of(t, entries...)
	b := mustUnpack(t, archive, Zip)
	if want := mustUnpack(t, zipOf(t, entries...), Zip); b.ContentDigest != want.ContentDigest {
		t.Errorf("%s, want %s", b.ContentDigest, want.ContentDigest)
	}
	locator := len(archive) - endBytes - end64LocatorBytes
	for name, damaged := range map[string][]byte{
		"no locator":             patched(archive, locator, "none"),
		"locator points outside": patched(archive, locator+8, "\xff\xff\xff\xff\xff\xff\xff\xff"),
		"no end record":          patched(archive, locator-end64Bytes, "none"),
		"wrong start":            patched(archive, locator-8, "\x01"),
		"negative size":          patched(archive, locator-9, "\xff"),
	} {
		_, err := unpackBytes(t, damaged, Zip)
		if !market.HasCode(err, CodeMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
