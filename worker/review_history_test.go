package worker_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
	"github.com/course-marketplace/backend/workflows"
)

// TestRecordReviewHistories makes the histories of publication reviews and of the
// clean-up; see TestRecordHistories.
func TestRecordReviewHistories(t *testing.T) {
	t.Parallel()
	if !*record {
		t.Skip("run with -record")
	}
	for name, travel := range reviewJourneys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newReviewJourney(t, workertest.Options{Clear: true})
			travel(j)
			for workflowID, file := range j.recorded {
				j.write(workflowID, filepath.Join("..", "workflows", "testdata", "histories", file+".json"))
			}
		})
	}
}

// weather asks a host that it does not declare.
var weather = map[string]string{
	"SKILL.md":          "---\nname: weather\ndescription: Asks for the weather.\n---\n\nRun scripts/ask.sh.\n",
	"capabilities.yaml": "schema_version: \"1\"\nshell:\n  commands: [curl]\n",
	"scripts/ask.sh":    "#!/bin/sh\ncurl -sS https://api.weather.example/\n",
}

// reviewJourneys drive reviews through their lives.
var reviewJourneys = map[string]func(*reviewJourney){
	"approved": func(j *reviewJourney) {
		j.upload(weather)
		j.request(market.ReviewHumanReview)
		j.decide(workflows.UpdateApprove, workflows.ReviewDecision{}, "capability_acknowledgement_required")
		j.decide(workflows.UpdateApprove, workflows.ReviewDecision{Acknowledged: true}, "")
		j.ended(market.ReviewApproved, "approved_after_refusal")
	},
	"rejected": func(j *reviewJourney) {
		j.upload(weather)
		j.request(market.ReviewHumanReview)
		notes := "Declare the host."
		j.decide(workflows.UpdateReject, workflows.ReviewDecision{Reason: "Undeclared", Notes: &notes}, "")
		j.ended(market.ReviewRejected, "rejected")
	},
	"rejected by the scan": func(j *reviewJourney) {
		j.upload(map[string]string{"README.md": "No main file."})
		j.request(market.ReviewRejected)
		j.ended(market.ReviewRejected, "rejected_without_main_file")
	},
	"failed": func(j *reviewJourney) {
		version := j.upload(weather)
		if _, err := j.storage.DeletePrefix(j.t.Context(), bundle.VersionPrefix(j.course, version)); err != nil {
			j.t.Fatal(err)
		}
		j.request(market.ReviewFailed)
		j.ended(market.ReviewFailed, "failed")
	},
	"cancelled": func(j *reviewJourney) {
		j.upload(weather)
		j.request(market.ReviewHumanReview)
		j.db.BlockCourse(j.t, j.course)
		j.decide(workflows.UpdateApprove, workflows.ReviewDecision{Acknowledged: true}, "course_blocked")
		j.ended(market.ReviewCancelled, "cancelled")
	},
	"cleaned up": func(j *reviewJourney) {
		id := "housekeeping-" + uuid.NewString()
		options := client.StartWorkflowOptions{ID: id, TaskQueue: j.temporal.TaskQueue}
		run, err := j.temporal.Client.ExecuteWorkflow(j.t.Context(), options, workflows.Housekeeping)
		if err != nil {
			j.t.Fatal(err)
		}
		if err := run.Get(j.t.Context(), nil); err != nil {
			j.t.Fatal(err)
		}
		j.note(id, "housekeeping/nothing_to_remove")
	},
}

// reviewJourney drives the review of one course's version.
type reviewJourney struct {
	*journey
	storage         *bundle.Storage
	owner, reviewer storetest.Agent
	course, review  uuid.UUID
}

func newReviewJourney(t *testing.T, o workertest.Options) *reviewJourney {
	t.Helper()
	at := stacktest.Bucket(t, stacktest.Shared(t).S3)
	storage, err := bundle.NewStorage(bundle.Config{Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket,
		AccessKey: at.AccessKey, SecretKey: at.SecretKey, PathStyle: true, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	o.Storage = storage
	j := &reviewJourney{journey: newJourney(t, o), storage: storage, review: uuid.Must(uuid.NewV7())}
	j.owner = j.db.NewAgent(t, storetest.NewAgentOptions{})
	j.reviewer = j.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleReviewer}})
	j.course = j.db.NewCourse(t, storetest.NewCourseOptions{Owner: j.owner.ID})
	return j
}

// upload makes a version of the files.
func (j *reviewJourney) upload(files map[string]string) uuid.UUID {
	j.t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for path, content := range files {
		entry, err := w.Create(path)
		if err == nil {
			_, err = entry.Write([]byte(content))
		}
		if err != nil {
			j.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		j.t.Fatal(err)
	}
	n := store.NewVersion{ID: uuid.Must(uuid.NewV7()), CourseID: j.course, Version: "1.0.0"}
	m, err := j.storage.Ingest(j.t.Context(), bundle.Upload{CourseID: j.course, VersionID: n.ID, Format: bundle.Zip, Body: &packed})
	if err != nil {
		j.t.Fatal(err)
	}
	n.ContentDigest, n.SizeBytes, n.MainFile = m.ContentDigest, m.SizeBytes, m.MainFile
	for _, f := range m.Files {
		n.Files = append(n.Files, store.VersionFile{Path: f.Path, Role: string(f.Role), ContentType: f.ContentType, SizeBytes: f.SizeBytes, Sha256: f.SHA256})
	}
	if _, err := j.db.CreateVersion(j.t.Context(), n, store.Actor{AgentID: j.owner.ID}); err != nil {
		j.t.Fatal(err)
	}
	return n.ID
}

// request asks for the review and waits until it has the status.
func (j *reviewJourney) request(status market.ReviewStatus) {
	j.t.Helper()
	course, err := j.db.GetCourse(j.t.Context(), j.course)
	if err == nil {
		err = j.flows.RequestReview(j.t.Context(), j.review, course, j.owner.ID)
	}
	if err != nil {
		j.t.Fatal(err)
	}
	workertest.Eventually(j.t, func() error {
		if r := j.read(); r.Status != status {
			return fmt.Errorf("the review is %s", r.Status)
		}
		return nil
	})
}

func (j *reviewJourney) read() store.Review {
	j.t.Helper()
	r, err := j.db.GetReview(j.t.Context(), j.review)
	if err != nil {
		j.t.Fatal(err)
	}
	return r
}

// decide decides as the reviewer; code is the refusal that it should meet.
func (j *reviewJourney) decide(update string, d workflows.ReviewDecision, code string) {
	j.t.Helper()
	d.ReviewerAgentID, d.ReviewerUserID = j.reviewer.ID, j.reviewer.UserID
	err := j.flows.Review(j.t.Context(), j.read(), update, d)
	if code == "" && err != nil || code != "" && !market.HasCode(err, code) {
		j.t.Fatalf("%s: %v, want %q", update, err, code)
	}
}

// ended waits until the workflow has ended with the status, and notes its history.
func (j *reviewJourney) ended(status market.ReviewStatus, file string) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), 30*time.Second)
	defer cancel()
	id := workflows.ReviewWorkflowID(j.review)
	var state workflows.ReviewState
	if err := j.temporal.Client.GetWorkflow(ctx, id, "").Get(ctx, &state); err != nil || state.Status != status {
		j.t.Fatalf("the workflow ended as %q, %v, want %q", state.Status, err, status)
	}
	j.note(id, "publication_review/"+file)
}
