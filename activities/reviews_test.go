package activities_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/course-marketplace/backend/activities"
	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/workflows"
)

// shelf is a database and a bucket with one course's versions.
type shelf struct {
	*storetest.DB
	t       *testing.T
	at      devstack.S3
	storage *bundle.Storage
	owner   storetest.Agent
	course  uuid.UUID
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	s := shelf{DB: storetest.New(t), t: t, at: stacktest.Bucket(t, stacktest.Shared(t).S3)}
	s.storage = s.storageAt(s.at.Endpoint)
	s.owner = s.NewAgent(t, storetest.NewAgentOptions{})
	s.course = s.NewCourse(t, storetest.NewCourseOptions{Owner: s.owner.ID})
	return s
}

func (s shelf) storageAt(endpoint string) *bundle.Storage {
	s.t.Helper()
	storage, err := bundle.NewStorage(bundle.Config{Endpoint: endpoint, Region: s.at.Region, Bucket: s.at.Bucket,
		AccessKey: s.at.AccessKey, SecretKey: s.at.SecretKey, PathStyle: true, SpoolDir: s.t.TempDir()})
	if err != nil {
		s.t.Fatal(err)
	}
	return storage
}

// store puts the files of a version into storage, and nothing into the database.
func (s shelf) store(files map[string]string) (uuid.UUID, *bundle.Manifest) {
	s.t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for path, content := range files {
		entry, err := w.Create(path)
		if err == nil {
			_, err = entry.Write([]byte(content))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	m, err := s.storage.Ingest(s.t.Context(), bundle.Upload{CourseID: s.course, VersionID: id, Format: bundle.Zip, Body: &packed})
	if err != nil {
		s.t.Fatal(err)
	}
	return id, m
}

func (s shelf) upload(number string, files map[string]string) uuid.UUID {
	s.t.Helper()
	id, m := s.store(files)
	n := store.NewVersion{ID: id, CourseID: s.course, Version: number, ContentDigest: m.ContentDigest, SizeBytes: m.SizeBytes, MainFile: m.MainFile}
	for _, f := range m.Files {
		n.Files = append(n.Files, store.VersionFile{Path: f.Path, Role: string(f.Role), ContentType: f.ContentType, SizeBytes: f.SizeBytes, Sha256: f.SHA256})
	}
	if _, err := s.CreateVersion(s.t.Context(), n, store.Actor{AgentID: s.owner.ID}); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// scanning uploads a version and begins the scan of its review.
func (s shelf) scanning(files map[string]string) workflows.LayerScan {
	s.t.Helper()
	version := s.upload("1.0.0", files)
	r, err := s.RequestReview(s.t.Context(), uuid.Must(uuid.NewV7()), s.course, store.Actor{AgentID: s.owner.ID})
	if err == nil {
		_, err = s.BeginScan(s.t.Context(), r.ID)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return workflows.LayerScan{ReviewID: r.ID, VersionID: version}
}

// run runs a layer as a worker would.
func run(t *testing.T, a *activities.Reviews, scan workflows.LayerScan, layer string) (workflows.LayerOutcome, error) {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.ScanLayer, activity.RegisterOptions{Name: workflows.ActivityScanLayer})
	scan.Layer = layer
	value, err := env.ExecuteActivity(workflows.ActivityScanLayer, scan)
	if err != nil {
		return workflows.LayerOutcome{}, err
	}
	var outcome workflows.LayerOutcome
	if err := value.Get(&outcome); err != nil {
		t.Fatal(err)
	}
	return outcome, nil
}

var lesson = map[string]string{
	"SKILL.md":          "---\nname: weather\ndescription: Asks for the weather.\n---\n\nRun scripts/ask.sh.\n",
	"capabilities.yaml": "schema_version: \"1\"\nshell:\n  commands: [curl]\n",
	"scripts/ask.sh":    "#!/bin/sh\ncurl -sS https://api.weather.example/\n",
}

func TestScanReachesTheReview(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	reviews := &activities.Reviews{Store: s.Store, Storage: s.storage}
	scan := s.scanning(lesson)
	state, err := reviews.BeginScan(t.Context(), workflows.ReviewStep{ReviewID: scan.ReviewID})
	if err != nil || len(state.Layers) != 5 || slices.Contains(state.Layers, workflows.CapabilitiesLayer) {
		t.Fatalf("%+v, %v", state, err)
	}
	for _, layer := range append(state.Layers, workflows.CapabilitiesLayer, "static") { // one of them twice
		outcome, err := run(t, reviews, scan, layer)
		if err != nil || outcome.Layer != layer || outcome.Status == "indeterminate" {
			t.Errorf("%s: %+v, %v", layer, outcome, err)
		}
	}
	state, err = reviews.ConcludeScan(t.Context(), workflows.ReviewStep{ReviewID: scan.ReviewID})
	if err != nil || state.Status != market.ReviewHumanReview || state.Findings == 0 {
		t.Errorf("%+v, %v", state, err)
	}
	r, err := s.GetReview(t.Context(), scan.ReviewID)
	if err != nil || !r.NeedsAcknowledgement || *r.CapabilitiesStatus != "mismatched" {
		t.Fatalf("%+v, %v", r, err)
	}
	var patch struct {
		Operations []struct{ Op, Path, Value string }
	}
	if err := json.Unmarshal(r.DeclarationPatch, &patch); err != nil || len(patch.Operations) != 1 || patch.Operations[0].Value != "api.weather.example" {
		t.Errorf("the patch is %s, %v", r.DeclarationPatch, err)
	}
}

// Where storage is to blame, the scan says nothing of the bundle.
func TestLayerFailsWithStorage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		harm  func(s shelf, version uuid.UUID) *bundle.Storage
		code  string
		final bool
	}{
		"away": {func(s shelf, _ uuid.UUID) *bundle.Storage { return s.storageAt("http://127.0.0.1:9") }, "storage_unavailable", false},
		"lost": {func(s shelf, version uuid.UUID) *bundle.Storage {
			if _, err := s.storage.DeletePrefix(t.Context(), bundle.VersionPrefix(s.course, version)); err != nil {
				t.Fatal(err)
			}
			return s.storage
		}, "bundle_file_not_found", true},
		"changed": {func(s shelf, version uuid.UUID) *bundle.Storage {
			for o, err := range s.storage.List(t.Context(), bundle.VersionPrefix(s.course, version)) {
				if err == nil {
					err = s.storage.Put(t.Context(), bundle.Object{Key: o.Key, Body: strings.NewReader("changed"), SizeBytes: 7})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			return s.storage
		}, "digest_mismatch", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			scan := s.scanning(lesson)
			reviews := &activities.Reviews{Store: s.Store, Storage: test.harm(s, scan.VersionID)}
			for _, layer := range []string{"structure", "static", "secrets", "dependencies", "behavioral"} {
				_, err := run(t, reviews, scan, layer)
				var failure *temporal.ApplicationError
				if !errors.As(err, &failure) || failure.Type() != test.code || failure.NonRetryable() != test.final {
					t.Errorf("%s: %v", layer, err)
				}
			}
			if layers, err := s.ListReviewLayers(t.Context(), scan.ReviewID); err != nil || len(layers) > 0 {
				t.Errorf("layers were saved: %v, %v", layers, err)
			}
		})
	}
}

func TestUnknownLayerAndVersionAreFinal(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	reviews := &activities.Reviews{Store: s.Store, Storage: s.storage}
	scan := s.scanning(lesson)
	_, err := run(t, reviews, scan, "astrology")
	var failure *temporal.ApplicationError
	if !errors.As(err, &failure) || failure.Type() != "layer_unknown" || !failure.NonRetryable() {
		t.Error(err)
	}
	scan.VersionID = uuid.New()
	_, err = run(t, reviews, scan, "static")
	if !errors.As(err, &failure) || failure.Type() != "version_not_found" || !failure.NonRetryable() {
		t.Error(err)
	}
}

func TestOrphansAreRemoved(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	kept := s.upload("1.0.0", lesson)
	orphan, _ := s.store(lesson)
	keys := func(version uuid.UUID) (n int) {
		for _, err := range s.storage.List(t.Context(), bundle.VersionPrefix(s.course, version)) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	young := &activities.Housekeeping{Store: s.Store, Storage: s.storage}
	if n, err := young.RemoveOrphanedBundles(t.Context()); n != 0 || err != nil || keys(orphan) != 3 {
		t.Errorf("%d of files that may be an upload under way were removed, %v", n, err)
	}
	// A negative age makes what was stored just now old enough.
	old := &activities.Housekeeping{Store: s.Store, Storage: s.storage, OrphanAge: -time.Hour}
	if n, err := old.RemoveOrphanedBundles(t.Context()); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if keys(orphan) != 0 || keys(kept) != 3 {
		t.Errorf("the orphan has %d files, the version that is kept %d", keys(orphan), keys(kept))
	}
	if n, err := old.RemoveOrphanedBundles(t.Context()); n != 0 || err != nil {
		t.Errorf("removed %d again, %v", n, err)
	}
}
