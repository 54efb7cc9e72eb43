package bundle

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/course-marketplace/backend/internal/market"
)

func TestServeFileIsInert(t *testing.T) {
	t.Parallel()
	const content = "<script>alert(1)</script>"
	f := File{Path: "a/page.html", ContentType: "text/html; charset=utf-8", SizeBytes: int64(len(content)), SHA256: sum(content)}
	w := httptest.NewRecorder()
	if err := ServeFile(w, f, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Content-Type":                 {"application/octet-stream"},
		"Content-Length":               {"25"},
		"Content-Disposition":          {`attachment; filename="page.html"`},
		"X-Content-Type-Options":       {"nosniff"},
		"Content-Security-Policy":      {"default-src 'none'; sandbox"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Referrer-Policy":              {"no-referrer"},
		"Cache-Control":                {"no-store"},
		"Accept-Ranges":                {"none"},
		"Etag":                         {`"` + sum(content) + `"`},
		"Repr-Digest":                  {"sha-256=:" + base64Sum(content) + ":"},
	}

	if diff := cmp.Diff(want, w.Header()); diff != "" {
		t.Error(diff)
	}
	if w.Code != http.StatusOK || w.Body.String() != content {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

func TestServeFileCutShort(t *testing.T) {
	t.Parallel()
	broken := errors.New("storage went away")
	f := File{Path: "a", SizeBytes: 100, SHA256: sum("")}
	served := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served <- ServeFile(w, f, io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)))
	}))
	defer server.Close()
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the client noticed nothing: %v", err)
	}
	if err := <-served; !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestDeliveryType(t *testing.T) {
	t.Parallel()
	for _, active := range []string{".html", ".svg", ".xml", ".xhtml", ".pdf", ".css", ".wasm"} {
		if got := deliveryType(contentTypes[active]); got != octetStream {
			t.Errorf("%s is delivered as %s", active, got)
		}
	}
	for _, inert := range []string{".md", ".txt", ".png", ".json"} {
		if got := deliveryType(contentTypes[inert]); got != contentTypes[inert] {
			t.Errorf("%s is delivered as %s", inert, got)
		}
	}
}

func TestDisposition(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a/b.md":            `attachment; filename="b.md"`,
		"naïve file.md":     `attachment; filename="na_ve file.md"; filename*=UTF-8''na%C3%AFve%20file.md`,
		`q".html`:           `attachment; filename="q_.html"; filename*=UTF-8''q%22.html`,
		"50%;x=y.txt":       `attachment; filename="50__x=y.txt"; filename*=UTF-8''50%25%3Bx%3Dy.txt`,
		"日本.md":             `attachment; filename="__.md"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.md`,
		"d/it's (1), ok.md": `attachment; filename="it_s (1), ok.md"; filename*=UTF-8''it%27s%20%281%29%2C%20ok.md`,
	} {
		got := disposition(path)
		if got != want {
			t.Errorf("%s: %s", path, got)
		}
		_, params, err := mime.ParseMediaType(got)
		if err != nil || params["filename"] != path[strings.LastIndexByte(path, '/')+1:] {
			t.Errorf("%s is understood as %q, %v", path, params["filename"], err)
		}
	}
}

func TestTicket(t *testing.T) {
	t.Parallel()
	a, b := NewTicket(), NewTicket()
	if a.Token == b.Token || len(a.Token) != 43 {
		t.Errorf("%q, %q", a.Token, b.Token)
	}
	if hash, err := HashTicket(a.Token); err != nil || hash != a.Hash {
		t.Errorf("%x, %v", hash, err)
	}
	for _, bad := range []string{"", a.Token[1:], a.Token + "A", a.Token[:42] + "=", a.Token[:42] + "\n", a.Token[:42] + "_", "é" + a.Token[2:]} {
		_, err := HashTicket(bad)
		wantCode(t, err, market.KindForbidden, "ticket_invalid")
	}
	last := "B" // spells the same bytes as A, were decoding not strict
	if _, err := HashTicket(a.Token[:42] + last); err == nil {
		t.Error("a token has two spellings")
	}
}
