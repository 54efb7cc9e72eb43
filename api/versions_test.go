package api_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

func TestUploadKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course := p.course()
	zipped := decode[client.CourseVersion](t, p.want(p.upload(p.author.Key, course, "1.0.0", zipType, zipOf(t, weather)), 201, ""))
	tarred := decode[client.CourseVersion](t, p.want(p.upload(p.author.Key, course, "1.1.0-rc.1%2Bbuild.7", gzipType, tarGzOf(t, weather)), 201, ""))
	if zipped.ContentDigest != tarred.ContentDigest {
		t.Errorf("the packing changed the digest: %s, %s", zipped.ContentDigest, tarred.ContentDigest)
	}
	if tarred.Version != "1.1.0-rc.1+build.7" || zipped.Status != "uploaded" || zipped.CourseID != course {
		t.Errorf("%+v, %+v", zipped, tarred)
	}
	roles := map[string]client.FileRole{}
	var size int64
	for _, f := range zipped.Files {
		roles[f.Path] = f.Role
		size += f.SizeBytes
	}
	want := map[string]client.FileRole{"SKILL.md": "main", "scripts/forecast.py": "script", "capabilities.yaml": "manifest"}
	if diff := cmp.Diff(want, roles); diff != "" || size != zipped.SizeBytes {
		t.Errorf("roles (-want +got):\n%s\n%d bytes of %d", diff, size, zipped.SizeBytes)
	}
	if n := len(p.stored()); n != 6 {
		t.Errorf("%d objects are stored, want those of two versions with three files", n)
	}
}

// Each refusal is a problem with its status, and nothing is left in storage or in the
// database.
func TestRefusedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course := p.course()
	blocked := p.db.NewCourse(t, storetest.NewCourseOptions{Owner: p.author.ID, Status: market.CourseBlocked})
	public := p.db.NewCourse(t, storetest.NewCourseOptions{Owner: p.agent().ID, Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	good := zipOf(t, weather)
	many := files{}
	for i := range 2001 {
		many[fmt.Sprintf("f%d", i)] = ""
	}
	device := tarGzOf(t, weather, tar.Header{Name: "tty", Typeflag: tar.TypeChar})
	link := tarGzOf(t, weather, tar.Header{Name: "passwd", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
	tests := map[string]struct {
		key, version, mediaType, archive string
		course                           uuid.UUID
		want                             outcome
	}{
		"no key":                 {"", "1.0.0", zipType, good, course, outcome{401, "missing_api_key"}},
		"a private course":       {p.agent().Key, "1.0.0", zipType, good, course, outcome{404, "course_not_found"}},
		"another's course":       {p.author.Key, "1.0.0", zipType, good, public, outcome{403, "not_course_owner"}},
		"an unknown course":      {p.author.Key, "1.0.0", zipType, good, uuid.New(), outcome{404, "course_not_found"}},
		"a blocked course":       {p.author.Key, "1.0.0", zipType, good, blocked, outcome{409, "course_blocked"}},
		"no version":             {p.author.Key, "", zipType, good, course, outcome{422, "validation_error"}},
		"no semantic version":    {p.author.Key, "1.0", zipType, good, course, outcome{422, "validation_error"}},
		"another media type":     {p.author.Key, "1.0.0", "application/x-tar", good, course, outcome{415, "unsupported_media_type"}},
		"not the announced type": {p.author.Key, "1.0.0", gzipType, good, course, outcome{422, "archive_malformed"}},
		"an empty body":          {p.author.Key, "1.0.0", zipType, "", course, outcome{422, "archive_malformed"}},
		"a cut-off archive":      {p.author.Key, "1.0.0", zipType, good[:len(good)/2], course, outcome{422, "archive_malformed"}},
		"too large":              {p.author.Key, "1.0.0", zipType, good + strings.Repeat("x", 32<<20), course, outcome{413, "archive_too_large"}},
		"unpacks to too much":    {p.author.Key, "1.0.0", gzipType, tarGzOf(t, sparse(t, 130)), course, outcome{422, "archive_too_large_unpacked"}},
		"too many files":         {p.author.Key, "1.0.0", zipType, zipOf(t, many), course, outcome{422, "archive_too_many_files"}},
		"a path escape":          {p.author.Key, "1.0.0", zipType, zipOf(t, weather.with(files{"../evil": "x"})), course, outcome{422, "archive_path_escape"}},
		"a symbolic link":        {p.author.Key, "1.0.0", gzipType, link, course, outcome{422, "archive_symlink"}},
		"a device":               {p.author.Key, "1.0.0", gzipType, device, course, outcome{422, "archive_special_file"}},
		"a path twice":           {p.author.Key, "1.0.0", zipType, zipOf(t, weather.with(files{"skill.md": "x"})), course, outcome{422, "archive_duplicate_path"}},
		"a bomb":                 {p.author.Key, "1.0.0", zipType, zipOf(t, files{"SKILL.md": strings.Repeat("0", 20<<20)}), course, outcome{422, "archive_bomb"}},
		"encrypted":              {p.author.Key, "1.0.0", zipType, encrypted(good), course, outcome{422, "archive_encrypted"}},
		"no file":                {p.author.Key, "1.0.0", zipType, zipOf(t, files{}), course, outcome{422, "archive_empty"}},
	}
	for name, test := range tests {
		a := p.upload(test.key, test.course, test.version, test.mediaType, test.archive)
		if a.status != test.want.status || a.code() != test.want.code {
			t.Errorf("%s: answered %d %s, want %v: %s", name, a.status, a.code(), test.want, a.body)
		}
	}
	if keys := p.stored(); len(keys) > 0 {
		t.Errorf("left in storage: %v", keys)
	}
	if n := p.count("SELECT count(*) FROM course_versions WHERE course_id = $1", course); n > 0 {
		t.Errorf("left %d versions", n)
	}
	p.want(p.upload(p.author.Key, course, "1.0.0", zipType, good), 201, "")
}

// sparse is n MiB that shrink about sixteenfold when packed, so that they are no bomb.
func sparse(t *testing.T, n int) files {
	t.Helper()
	f := files{}
	block := make([]byte, 64<<10)
	if _, err := rand.Read(block[:4<<10]); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		block[0], block[1] = byte(i), byte(i>>8)
		f[fmt.Sprintf("part%d", i)] = strings.Repeat(string(block), 16)
	}
	return f
}

// encrypted sets the flag of encryption in every header of a zip.
func encrypted(archive string) string {
	b := []byte(archive)
	for signature, offset := range map[string]int{"PK\x03\x04": 6, "PK\x01\x02": 8} {
		for from := 0; ; {
			i := bytes.Index(b[from:], []byte(signature))
			if i < 0 {
				break
			}
			b[from+i+offset] |= 1
			from += i + 4
		}
	}
	return string(b)
}

func TestVersionIsImmutable(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course, _ := p.uploaded(weather)
	for _, archive := range []string{zipOf(t, weather), zipOf(t, underdeclared)} {
		p.want(p.upload(p.author.Key, course, "1.0.0", zipType, archive), 409, "version_exists")
	}
	if n := len(p.stored()); n != 3 {
		t.Errorf("%d objects, want those of the first upload", n)
	}
}

// Of uploads that race for one number, one wins and the files of the others go.
func TestRacingUploadsOfOneNumber(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course := p.course()
	var mu sync.Mutex
	answers := map[int]int{}
	var racing sync.WaitGroup
	for i := range 8 {
		archive := zipOf(t, weather.with(files{"number.txt": fmt.Sprint(i)}))
		racing.Go(func() {
			a := p.upload(p.author.Key, course, "1.0.0", zipType, archive)
			mu.Lock()
			defer mu.Unlock()
			answers[a.status]++
		})
	}
	racing.Wait()
	if diff := cmp.Diff(map[int]int{201: 1, 409: 7}, answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := len(p.stored()); n != 4 {
		t.Errorf("%d objects, want the four of the one that won", n)
	}
}

func TestUploadWithIdempotencyKey(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course := p.course()
	send := func(archive string) answer {
		return p.upload(p.author.Key, course, "1.0.0", zipType, archive, "Idempotency-Key", "upload-1")
	}
	first := p.want(send(zipOf(t, weather)), 201, "")
	again := p.want(send(zipOf(t, weather)), 201, "")
	if !bytes.Equal(first.body, again.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("answered %s, then %s", first.body, again.body)
	}
	p.want(send(zipOf(t, underdeclared)), 422, "idempotency_key_reused")
	sameLength := []byte(zipOf(t, weather))
	sameLength[len(sameLength)/2] ^= 1
	p.want(send(string(sameLength)), 422, "idempotency_key_reused")
	// The answer was lost with the process that was to keep it: the work is found by its id.
	if _, err := p.db.Pool().Exec(t.Context(), "UPDATE idempotency_keys SET status = NULL, headers = NULL, body = NULL, locked_until = now() - interval '1 second'"); err != nil {
		t.Fatal(err)
	}
	found := p.want(send(zipOf(t, weather)), 201, "")
	if found.value("id") != first.value("id") {
		t.Errorf("made %s after %s", found.value("id"), first.value("id"))
	}
	if n := len(p.stored()); n != 3 {
		t.Errorf("%d objects", n)
	}
}

// cutOff ends with an error after its content.
type cutOff struct{ io.Reader }

func (c cutOff) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestCutOffUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course := p.course()
	archive := tarGzOf(t, weather.with(sparse(t, 4)))
	half := archive[:len(archive)/2]
	path := p.url + "/v1/courses/" + course.String() + "/versions?version=1.0.0"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, cutOff{strings.NewReader(half)})
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(archive))
	r.Header.Set("Content-Type", gzipType)
	r.Header.Set("Authorization", "Bearer "+p.author.Key)
	if response, err := p.http.Do(r); err == nil {
		_ = response.Body.Close()
		t.Fatal("the connection was to break")
	}
	workertest.Eventually(t, func() error {
		if !strings.Contains(p.log.String(), "/versions") {
			return fmt.Errorf("the request is still being answered")
		}
		return nil
	})
	if keys := p.stored(); len(keys) > 0 {
		t.Errorf("left in storage: %v", keys)
	}
	if n := p.count("SELECT count(*) FROM course_versions"); n > 0 {
		t.Errorf("left %d versions", n)
	}
	p.want(p.upload(p.author.Key, course, "1.0.0", gzipType, archive), 201, "")
}

func TestListCourseVersions(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course, _ := p.uploaded(weather)
	for i := range 4 {
		p.addVersion(course, fmt.Sprintf("1.%d.0", i+1), weather)
	}
	list := func(key, query string) answer {
		return p.send(http.MethodGet, "/v1/courses/"+course.String()+"/versions"+query, key, nil)
	}
	var numbers []string
	for query, pages := "?limit=2", 0; query != ""; pages++ {
		page := decode[client.ListCourseVersionsResponse](t, p.want(list(p.author.Key, query), 200, ""))
		for _, v := range page.Items {
			numbers = append(numbers, v.Version)
			if len(v.Files) != 3 {
				t.Errorf("version %s has %d files", v.Version, len(v.Files))
			}
		}
		query = ""
		if page.NextCursor != nil {
			query = "?limit=2&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	if diff := cmp.Diff([]string{"1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0"}, numbers); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	p.want(list(p.reviewer.Key, ""), 200, "")
	p.want(list(p.agent().Key, ""), 404, "course_not_found")
	p.want(list("", ""), 401, "missing_api_key")
	p.want(list(p.author.Key, "?cursor=x"), 422, "")
	p.want(list(p.author.Key, "?limit=101"), 422, "validation_error")
	other, _ := p.uploaded(weather)
	cursor := decode[client.ListCourseVersionsResponse](t, list(p.author.Key, "?limit=1")).NextCursor
	p.want(p.send(http.MethodGet, "/v1/courses/"+other.String()+"/versions?cursor="+url.QueryEscape(*cursor), p.author.Key, nil), 422, "")
}

// TestUploadMemory is not parallel: it measures the whole process.
func TestUploadMemory(t *testing.T) {
	const growth = 8 << 20
	p := newPublishing(t)
	course := p.course()
	archive := largestUpload(t)
	info, err := archive.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/courses/"+course.String()+"/versions?version=1.0.0", archive)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = info.Size()
	r.Header.Set("Content-Type", zipType)
	r.Header.Set("Authorization", "Bearer "+p.author.Key)
	runtime.GC()
	before := heapInUse()
	var response *http.Response
	peak := peakHeap(func() { response, err = http.DefaultClient.Do(r) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		body, _ := io.ReadAll(response.Body)
		t.Fatalf("answered %d: %s", response.StatusCode, body)
	}
	t.Logf("%d MiB packed, heap %d KiB before, at most %d KiB during", info.Size()>>20, before>>10, peak>>10)
	if peak > before+growth {
		t.Errorf("the heap grew by %d KiB", (peak-before)>>10)
	}
}

// largestUpload is a zip of nearly 32 MiB on disk: in memory it would blur the measurement.
func largestUpload(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "upload")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	w := zip.NewWriter(f)
	for i := range 31 {
		entry, err := w.Create(fmt.Sprintf("file%d", i))
		if err == nil {
			_, err = io.CopyN(entry, rand.Reader, 1<<20)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
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
