package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
)

func upload(format Format, body io.Reader) Upload {
	return Upload{CourseID: uuid.New(), VersionID: uuid.New(), Format: format, Body: body}
}

func TestIngestAndReadBack(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	archive := zipOf(t, file("c/SKILL.md", "main"), file("c/copy", "same"), file("c/other", "same"), file("c/empty", ""))
	up := upload(Zip, bytes.NewReader(archive))
	m, err := s.Ingest(t.Context(), up)
	if err != nil {
		t.Fatal(err)
	}
	if m.MainFile != "SKILL.md" || m.SizeBytes != 12 || m.PackedBytes != int64(len(archive)) {
		t.Errorf("%+v", m)
	}
	if keys := storedKeys(t, s); len(keys) != 3 {
		t.Errorf("equal files are stored once; got %q", keys)
	}
	stored := OpenStored(s, *m)
	for path, want := range map[string]string{"SKILL.md": "main", "copy": "same", "other": "same", "empty": ""} {
		body, err := stored.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		_ = body.Close()
	}
	one, err := s.OpenFile(t.Context(), m.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = one.Close()
	_, err = s.OpenFile(t.Context(), File{Key: "absent"})
	wantCode(t, err, market.KindNotFound, "bundle_file_not_found")
	if err := stored.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadBackNoticesChanges(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	for name, replacement := range map[string]string{"altered": "tampered!", "shortened": "orig", "lengthened": "original and more"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := s.Ingest(t.Context(), upload(Zip, bytes.NewReader(zipOf(t, file("SKILL.md", "original!")))))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), Object{Key: m.Files[0].Key, Body: bytes.NewReader([]byte(replacement)), SizeBytes: int64(len(replacement))}); err != nil {
				t.Fatal(err)
			}
			body, err := OpenStored(s, *m).Open(t.Context(), "SKILL.md")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = body.Close() }()
			got, err := io.ReadAll(body)
			wantCode(t, err, market.KindConflict, "digest_mismatch")
			if len(got) >= len("original!") {
				t.Errorf("a wrong file was handed out whole: %q", got)
			}
		})
	}
}

func TestIngestCutOffLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	archive := tarGzOf(t, file("SKILL.md", "x"), file("random", randomString(1<<20)))
	body := io.MultiReader(bytes.NewReader(archive[:len(archive)/2]), iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err := s.Ingest(t.Context(), upload(TarGz, body))
	wantCode(t, err, market.KindRefused, CodeIncomplete)
	if keys := storedKeys(t, s); len(keys) > 0 {
		t.Errorf("left %q", keys)
	}
}

func TestIngestRefusalLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	_, err := s.Ingest(t.Context(), upload(Zip, bytes.NewReader(zipOf(t, file("SKILL.md", "x"), file("../evil", "x")))))
	wantCode(t, err, market.KindRefused, CodePathEscape)
	if keys := storedKeys(t, s); len(keys) > 0 {
		t.Errorf("left %q", keys)
	}
}

// flakyGateway passes requests on to the real gateway until it is told to fail.
type flakyGateway struct {
	proxy *httputil.ReverseProxy
	puts  atomic.Int64
	// onPut is called before each PUT with its number, from 1; an answer of
	// false begins the outage.
	onPut func(n int64) bool
	down  atomic.Bool
}

func (g *flakyGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut && !g.onPut(g.puts.Add(1)) {
		g.down.Store(true)
	}
	if g.down.Load() {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	g.proxy.ServeHTTP(w, r)
}

func newFlakyGateway(t *testing.T, at devstack.S3, onPut func(int64) bool) (*flakyGateway, *Storage) {
	t.Helper()
	target, err := url.Parse(at.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// Rewrite keeps the Host header, which the signature covers.
	g := &flakyGateway{onPut: onPut, proxy: &httputil.ReverseProxy{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = r.In.Host
	}}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	at.Endpoint = server.URL
	return g, storageIn(t, at)
}

func TestIngestOutageLeavesNothingAfterCleanUp(t *testing.T) {
	t.Parallel()
	at := stacktest.Bucket(t, stacktest.Shared(t).S3)
	direct := storageIn(t, at)
	gateway, flaky := newFlakyGateway(t, at, func(n int64) bool { return n <= 20 })

	_, err := flaky.Ingest(t.Context(), upload(Zip, bytes.NewReader(zipOf(t, distinct(60)...))))
	wantCode(t, err, market.KindUnavailable, "storage_unavailable")
	if len(storedKeys(t, direct)) == 0 {
		t.Fatal("the outage came before the first file, so this shows nothing")
	}

	gateway.down.Store(false)
	for v, err := range flaky.VersionsUntouchedSince(t.Context(), time.Now().Add(time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flaky.DeletePrefix(t.Context(), v.Prefix()); err != nil {
			t.Fatal(err)
		}
	}
	if keys := storedKeys(t, direct); len(keys) > 0 {
		t.Errorf("left %q", keys)
	}
}

func TestIngestCancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	at := stacktest.Bucket(t, stacktest.Shared(t).S3)
	direct := storageIn(t, at)
	ctx, cancel := context.WithCancel(t.Context())
	_, flaky := newFlakyGateway(t, at, func(n int64) bool {
		if n == 20 {
			cancel()
		}
		return true
	})
	_, err := flaky.Ingest(ctx, upload(TarGz, bytes.NewReader(tarGzOf(t, distinct(200)...))))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// A request under way when its client left may still arrive: that, and
	// nothing else, is the clean-up workflow's.
	if keys := storedKeys(t, direct); len(keys) > parallelPuts {
		t.Errorf("left %d objects", len(keys))
	}
}

func distinct(n int) []entry {
	entries := numbered(n)
	for i := range entries {
		entries[i].content = entries[i].name
	}
	return entries
}

func randomString(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return string(b)
}

// TestIngestMemory is not parallel: it measures the whole process.
func TestIngestMemory(t *testing.T) {
	const growth = 8 << 20
	for _, format := range []Format{Zip, TarGz} {
		t.Run(string(format), func(t *testing.T) {
			s := newStorage(t)
			archive := largestArchive(t, format)
			defer func() { _ = archive.Close() }()
			runtime.GC()
			before := heapInUse()
			var m *Manifest
			var err error
			peak := peakHeap(func() { m, err = s.Ingest(t.Context(), upload(format, archive.section(0, archive.size))) })
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes packed, heap %d KiB before, at most %d KiB during", m.PackedBytes, before>>10, peak>>10)
			if peak > before+growth {
				t.Errorf("the heap grew by %d KiB", (peak-before)>>10)
			}
		})
	}
}

// largestArchive writes an archive of incompressible files, just below the
// limit, to disk: in memory it would blur the measurement.
func largestArchive(t *testing.T, format Format) *spool {
	t.Helper()
	s, err := newSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var create func(name string) (io.Writer, error)
	var closers []io.Closer
	if format == Zip {
		w := zip.NewWriter(s)
		create, closers = w.Create, []io.Closer{w}
	} else {
		gz := gzip.NewWriter(s)
		w := tar.NewWriter(gz)
		closers = []io.Closer{w, gz}
		create = func(name string) (io.Writer, error) {
			err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 1 << 20})
			return w, err
		}
	}
	for i := range 31 {
		w, err := create(fmt.Sprintf("file%d", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, rand.Reader, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// peakHeap measures without pause while run runs.
func peakHeap(run func()) uint64 {
	var peak uint64
	var measuring sync.WaitGroup
	done := make(chan struct{})
	measuring.Go(func() {
		for {
			peak = max(peak, heapInUse())
			select {
			case <-done:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	run()
	close(done)
	measuring.Wait()
	return peak
}
