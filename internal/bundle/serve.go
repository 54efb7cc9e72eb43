package bundle

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// ServeFile answers with one file in a way that no browser runs it, whatever
// its author put into it: as an attachment, with an inert type that may not be
// sniffed, and sandboxed should it be shown all the same.
//
// Open the file before calling, so that a failure can still become a problem
// document. An error returned here comes after the header: the answer is cut
// short of its Content-Length, which every client notices.
func ServeFile(w http.ResponseWriter, f File, body io.Reader) error {
	digest, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", deliveryType(f.ContentType))
	h.Set("Content-Length", strconv.FormatInt(f.SizeBytes, 10))
	h.Set("Content-Disposition", disposition(f.Path))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Accept-Ranges", "none") // a ticket is good for one whole file
	h.Set("ETag", `"`+f.SHA256+`"`)
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(digest)+":") // RFC 9530
	w.WriteHeader(http.StatusOK)
	_, err = io.CopyBuffer(w, body, make([]byte, copyBufferBytes))
	return err
}

// inertTypes are those no browser executes. HTML, SVG, XML, PDF and scripts are
// not among them.
var inertTypes = setOf(
	textPlain, "text/markdown; charset=utf-8", "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8",
	"application/json", "application/jsonl", "application/x-ipynb+json", "application/yaml", "application/toml",
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif",
	"audio/mpeg", "audio/wav", "audio/ogg", "video/mp4", "video/webm",
)

func deliveryType(contentType string) string {
	if inertTypes[contentType] {
		return contentType
	}
	return octetStream
}

// disposition names the download (RFC 6266). The plain filename is for clients
// that do not know RFC 8187 and holds only characters that need no quoting.
func disposition(filePath string) string {
	name := path.Base(filePath)
	plain := strings.Map(func(r rune) rune {
		if plainNameRune(r) {
			return r
		}
		return '_'
	}, name)
	if plain == name {
		return fmt.Sprintf("attachment; filename=%q", name)
	}
	return fmt.Sprintf("attachment; filename=%q; filename*=UTF-8''%s", plain, extValue(name))
}

func plainNameRune(r rune) bool {
	return alphanumeric(r) || strings.ContainsRune("-_.+ ()[]{}@,=~!#$&^", r)
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// extValue encodes all but the attr-char of RFC 8187 section 3.2.1.
func extValue(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if alphanumeric(rune(c)) || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
