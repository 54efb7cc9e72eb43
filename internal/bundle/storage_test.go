package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
)

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	const content = "hello, storage"
	for name, o := range map[string]Object{
		"seekable":     {Body: strings.NewReader(content), SizeBytes: int64(len(content)), SHA256: sum(content)},
		"stream":       {Body: io.MultiReader(strings.NewReader(content)), SizeBytes: int64(len(content))},
		"unknown size": {Body: io.MultiReader(strings.NewReader(content)), SizeBytes: -1},
		"empty":        {Body: strings.NewReader("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Key = "objects/" + name
			if err := s.Put(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			body, size, err := s.Get(t.Context(), o.Key)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = body.Close() }()
			got, err := io.ReadAll(body)
			if err != nil || int64(len(got)) != size || name != "empty" && string(got) != content {
				t.Errorf("%q of size %d, %v", got, size, err)
			}
		})
	}
}

func TestPutRefusesWrongContent(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	if err := s.Put(t.Context(), Object{Key: "k", Body: strings.NewReader("x"), SizeBytes: 1, SHA256: sum("y")}); err == nil {
		t.Error("a body that does not match its digest was stored")
	}
	err := s.Put(t.Context(), Object{Key: "k", Body: io.MultiReader(strings.NewReader("x")), SizeBytes: 2})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short body: %v", err)
	}
	if keys := storedKeys(t, s); len(keys) > 0 {
		t.Errorf("stored %q", keys)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	for _, key := range []string{"a/1", "a/2", "ab/1"} {
		if err := s.Put(t.Context(), Object{Key: key, Body: strings.NewReader("x"), SizeBytes: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.DeletePrefix(t.Context(), "a/"); n != 2 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if n, err := s.DeletePrefix(t.Context(), "a/"); n != 0 || err != nil {
		t.Errorf("deleted %d again, %v", n, err)
	}
	if keys := storedKeys(t, s); !slices.Equal(keys, []string{"ab/1"}) {
		t.Errorf("left %q", keys)
	}
	if _, err := s.DeletePrefix(t.Context(), ""); err == nil {
		t.Error("an empty prefix would delete the bucket's whole content")
	}
	for range 2 {
		if err := s.Delete(t.Context(), "ab/1"); err != nil {
			t.Error(err)
		}
	}
	_, _, err := s.Get(t.Context(), "ab/1")
	wantCode(t, err, market.KindNotFound, "bundle_file_not_found")
}

func TestEnsureBucket(t *testing.T) {
	t.Parallel()
	at := stacktest.Shared(t).S3
	at.Bucket = "test-" + uuid.NewString()
	s := storageIn(t, at)
	_, _, err := s.Get(t.Context(), "k")
	wantCode(t, err, market.KindUnavailable, "storage_unavailable")
	for range 2 {
		if err := s.EnsureBucket(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), Object{Key: "k", Body: strings.NewReader("x"), SizeBytes: 1}); err != nil {
		t.Error(err)
	}
}

func TestNewStorageRefusesConfig(t *testing.T) {
	t.Parallel()
	good := Config{Endpoint: "http://localhost:1", Bucket: "b", AccessKey: "a", SecretKey: "s"}
	for name, change := range map[string]func(*Config){
		"no endpoint":         func(c *Config) { c.Endpoint = "" },
		"no scheme":           func(c *Config) { c.Endpoint = "localhost:1" },
		"bad public endpoint": func(c *Config) { c.PublicEndpoint = "ftp://x" },
		"no bucket":           func(c *Config) { c.Bucket = "" },
		"no key":              func(c *Config) { c.SecretKey = "" },
	} {
		cfg := good
		change(&cfg)
		if _, err := NewStorage(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestStorageOutage(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	s := storageIn(t, devstack.S3{Endpoint: "http://" + closed.Addr().String(), Bucket: "b", AccessKey: "a", SecretKey: "s"})
	for name, call := range map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { _, _, err := s.Get(ctx, "k"); return err },
		"put": func(ctx context.Context) error {
			return s.Put(ctx, Object{Key: "k", Body: strings.NewReader("x"), SizeBytes: 1})
		},
		"delete prefix": func(ctx context.Context) error { _, err := s.DeletePrefix(ctx, "p/"); return err },
		"ensure bucket": func(ctx context.Context) error { return s.EnsureBucket(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ok := market.AsError(call(t.Context()))
			if !ok || e.Code != "storage_unavailable" || e.RetryAfter == 0 {
				t.Errorf("%v", e)
			}
		})
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Get(cancelled, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPresignGet(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	f := File{Path: "docs/page.html", ContentType: "text/html; charset=utf-8", Key: "k"}
	if err := s.Put(t.Context(), Object{Key: f.Key, Body: strings.NewReader("<p>"), SizeBytes: 3}); err != nil {
		t.Fatal(err)
	}
	presigned, err := s.PresignGet(t.Context(), f, time.Minute)
	if err != nil || presigned.Method != http.MethodGet || time.Until(presigned.ExpiresAt) > time.Minute {
		t.Fatalf("%+v, %v", presigned, err)
	}
	status, header, body := fetch(t, presigned.URL)
	if status != http.StatusOK || body != "<p>" {
		t.Errorf("%d %q", status, body)
	}
	if header.Get("Content-Type") != octetStream || header.Get("Content-Disposition") != `attachment; filename="page.html"` {
		t.Errorf("unsafe header %v", header)
	}
	if status, _, _ := fetch(t, strings.Replace(presigned.URL, "/k?", "/other?", 1)); status != http.StatusForbidden {
		t.Errorf("tampered URL: %d", status)
	}
	if status, _, _ := fetch(t, strings.Replace(presigned.URL, "X-Amz-Expires=60", "X-Amz-Expires=600", 1)); status != http.StatusForbidden {
		t.Errorf("prolonged URL: %d", status)
	}
}

func TestPresignUsesPublicEndpoint(t *testing.T) {
	t.Parallel()
	s, err := NewStorage(Config{Endpoint: "http://s3:7070", PublicEndpoint: "https://files.example.org", Bucket: "b", AccessKey: "a", SecretKey: "s", PathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	presigned, err := s.PresignGet(t.Context(), File{Path: "p", Key: "k"}, time.Minute)
	if err != nil || !strings.HasPrefix(presigned.URL, "https://files.example.org/b/k?") {
		t.Errorf("%q, %v", presigned.URL, err)
	}
}

func fetch(t *testing.T, url string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(body)
}

func TestVersionsUntouchedSince(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	ids := make([]uuid.UUID, 3)
	for i := range ids {
		ids[i] = uuid.New()
		archive := zipOf(t, file("SKILL.md", "x"), file("a", "yy"), file("b", "yy"))
		if _, err := s.Ingest(t.Context(), Upload{CourseID: ids[0], VersionID: ids[i], Format: Zip, Body: bytes.NewReader(archive)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), Object{Key: "courses/stranger", Body: strings.NewReader("x"), SizeBytes: 1}); err != nil {
		t.Fatal(err)
	}
	var found []uuid.UUID
	for v, err := range s.VersionsUntouchedSince(t.Context(), time.Now().Add(time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		if v.CourseID != ids[0] || v.Objects != 2 || v.SizeBytes != 3 {
			t.Errorf("%+v", v)
		}
		found = append(found, v.VersionID)
	}
	slices.SortFunc(ids, compareIDs)
	slices.SortFunc(found, compareIDs)
	if !slices.Equal(found, ids) {
		t.Errorf("found %v, want %v", found, ids)
	}
	for v, err := range s.VersionsUntouchedSince(t.Context(), time.Now().Add(-OrphanAge)) {
		t.Errorf("%+v is not old (%v)", v, err)
	}
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
