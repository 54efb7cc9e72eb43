package api_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

// publishing is a marketplace with storage of its own, where courses are uploaded,
// reviewed and published.
type publishing struct {
	*marketplace
	storage  *bundle.Storage
	author   storetest.Agent
	reviewer storetest.Agent
}

func newPublishing(t *testing.T, adapt ...func(*api.Options)) *publishing {
	t.Helper()
	return newPublishingWith(t, workertest.Options{}, adapt...)
}

func newPublishingWith(t *testing.T, o workertest.Options, adapt ...func(*api.Options)) *publishing {
	t.Helper()
	p := &publishing{storage: newStorage(t)}
	o.Storage = p.storage
	with := func(o *api.Options) {
		o.Storage, o.ReviewLinkLifetime = p.storage, 15*time.Minute
	}
	p.marketplace = newMarketplace(t, o, append([]func(*api.Options){with}, adapt...)...)
	p.author = p.agent()
	p.reviewer = p.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleReviewer}})
	return p
}

// in is the same marketplace, reporting to a subtest.
func (p *publishing) in(t *testing.T) *publishing {
	c := *p
	c.marketplace = p.marketplace.in(t)
	return &c
}

func newStorage(t *testing.T) *bundle.Storage {
	t.Helper()
	at := stacktest.Bucket(t, stacktest.Shared(t).S3)
	s, err := bundle.NewStorage(bundle.Config{Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket,
		AccessKey: at.AccessKey, SecretKey: at.SecretKey, PathStyle: true, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// files are the files of a bundle by their paths.
type files map[string]string

// with returns a copy in which more files replace or join these.
func (f files) with(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// weather declares the one host that it asks.
var weather = files{
	"SKILL.md": `---
name: weather-lessons
description: Teaches an agent to read a weather forecast and to explain it.
license: Apache-2.0
---

# Weather lessons

Read the forecast with scripts/forecast.py, then explain it in two sentences.
`,
	"scripts/forecast.py": `import json
import urllib.request

with urllib.request.urlopen("https://api.weather.example/forecast?city=Oslo") as answer:
    print(json.load(answer)["summary"])
`,
	"capabilities.yaml": "schema_version: \"1\"\nnetwork:\n  domains: [api.weather.example]\n",
}

// underdeclared asks a host that it does not declare.
var underdeclared = weather.with(files{"capabilities.yaml": "schema_version: \"1\"\nnetwork:\n  domains: []\n"})

func zipOf(t testing.TB, f files) string {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		entry, err := w.Create(name)
		if err == nil {
			_, err = entry.Write([]byte(f[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

func tarGzOf(t testing.TB, f files, more ...tar.Header) string {
	t.Helper()
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	w := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f[name]))})
		if err == nil {
			_, err = w.Write([]byte(f[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range more {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// course makes a public course of the author.
func (p *publishing) course() uuid.UUID {
	p.t.Helper()
	return p.db.NewCourse(p.t, storetest.NewCourseOptions{Owner: p.author.ID, Visibility: market.VisibilityPublic})
}

const zipType, gzipType = "application/zip", "application/gzip"

// upload sends an archive; headers come in pairs.
func (p *publishing) upload(key string, course uuid.UUID, version, mediaType, archive string, headers ...string) answer {
	p.t.Helper()
	path := fmt.Sprintf("/v1/courses/%s/versions?version=%s", course, version)
	return p.send(http.MethodPost, path, key, archive, append([]string{"Content-Type", mediaType}, headers...)...)
}

// uploaded is a course with one version of the given content.
func (p *publishing) uploaded(f files) (course, version uuid.UUID) {
	p.t.Helper()
	course = p.course()
	return course, p.addVersion(course, "1.0.0", f)
}

func (p *publishing) addVersion(course uuid.UUID, version string, f files) uuid.UUID {
	p.t.Helper()
	a := p.want(p.upload(p.author.Key, course, version, zipType, zipOf(p.t, f)), http.StatusCreated, "")
	return uuid.MustParse(a.value("id"))
}

func (p *publishing) request(key string, course uuid.UUID, headers ...string) answer {
	p.t.Helper()
	return p.send(http.MethodPost, "/v1/courses/"+course.String()+"/publication-reviews", key, nil, headers...)
}

func (p *publishing) status(key string, course uuid.UUID, query string) answer {
	p.t.Helper()
	return p.send(http.MethodGet, "/v1/courses/"+course.String()+"/publication-reviews/latest"+query, key, nil)
}

// reviewed asks for the course's review and waits until it has the status.
func (p *publishing) reviewed(course uuid.UUID, status market.ReviewStatus) client.GetReviewStatusResponse {
	p.t.Helper()
	p.want(p.request(p.author.Key, course), http.StatusCreated, "")
	return p.awaitStatus(course, status)
}

func (p *publishing) awaitStatus(course uuid.UUID, status market.ReviewStatus) client.GetReviewStatusResponse {
	p.t.Helper()
	var r client.GetReviewStatusResponse
	workertest.Eventually(p.t, func() error {
		r = decode[client.GetReviewStatusResponse](p.t, p.want(p.status(p.author.Key, course, ""), http.StatusOK, ""))
		if market.ReviewStatus(r.Status) != status {
			return fmt.Errorf("the review is %s, not %s", r.Status, status)
		}
		return nil
	})
	return r
}

// waiting is a course whose version of the given content waits for a reviewer.
func (p *publishing) waiting(f files) (course uuid.UUID, review client.GetReviewStatusResponse) {
	p.t.Helper()
	course, _ = p.uploaded(f)
	return course, p.reviewed(course, market.ReviewHumanReview)
}

func reviewPath(review uuid.UUID, rest string) string {
	return "/v1/course-reviews/" + review.String() + rest
}

func (p *publishing) approve(key string, review uuid.UUID, body any) answer {
	p.t.Helper()
	return p.send(http.MethodPatch, reviewPath(review, "/approval"), key, body)
}

func (p *publishing) reject(key string, review uuid.UUID, body any) answer {
	p.t.Helper()
	return p.send(http.MethodPatch, reviewPath(review, "/rejection"), key, body)
}

// notices are the types of the author's notifications, oldest first.
func (p *publishing) notices() []string {
	p.t.Helper()
	page := decode[client.ListNotificationsResponse](p.t, p.want(p.send(http.MethodGet, "/v1/notifications?limit=100", p.author.Key, nil), http.StatusOK, ""))
	var types []string
	for _, n := range page.Items {
		types = append(types, string(n.Type))
	}
	slices.Reverse(types)
	return types
}

// stored lists the keys in storage.
func (p *publishing) stored() []string {
	p.t.Helper()
	var keys []string
	for o, err := range p.storage.List(p.t.Context(), "") {
		if err != nil {
			p.t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}
