package worker_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
	"github.com/course-marketplace/backend/workflows"
)

var record = flag.Bool("record", false, "write histories of real runs into workflows/testdata/histories")

// TestRecordHistories makes the histories that the replay tests hold later code
// against. Run it after a deliberate change, and keep the histories of code that still
// has runs under way:
//
//	go test ./worker -run TestRecordHistories -record
func TestRecordHistories(t *testing.T) {
	t.Parallel()
	if !*record {
		t.Skip("run with -record")
	}
	for name, journey := range journeys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJourney(t, workertest.Options{Clear: true, Grace: 50 * time.Millisecond})
			journey(j)
			for workflowID, file := range j.recorded {
				j.write(workflowID, filepath.Join("..", "workflows", "testdata", "histories", file+".json"))
			}
		})
	}
}

// journeys drive bounties through their lives, and note whose history is of interest.
var journeys = map[string]func(*journey){
	"paid": func(j *journey) {
		b := j.db.NewBounty(j.t, storetest.NewBountyOptions{})
		j.bounty(b, workflows.UpdateFund, "")
		j.bounty(b, workflows.UpdateOpen, "")
		b.Submitter = j.db.NewAgent(j.t, storetest.NewAgentOptions{})
		b.Submission = j.db.NewSubmission(j.t, b.ID, b.Submitter.ID)
		j.bounty(b, workflows.UpdateAccept, "")
		j.bounty(b, workflows.UpdatePay, "")
		j.awaitBounty(b, market.BountyPaid)
		j.note(workflows.BountyWorkflowID(b.ID), "bounty/paid")
		j.note(workflows.PayoutWorkflowID(j.payout(b).ID), "payout/settled")
	},
	"cancelled": func(j *journey) {
		deadline := time.Now().Add(time.Hour)
		b := j.db.NewBounty(j.t, storetest.NewBountyOptions{Deadline: &deadline})
		j.bounty(b, workflows.UpdateFund, "")
		j.bounty(b, workflows.UpdateCancel, "")
		j.awaitBounty(b, market.BountyCancelled)
		j.note(workflows.BountyWorkflowID(b.ID), "bounty/cancelled")
	},
	"expired": func(j *journey) {
		deadline := time.Now().Add(time.Second)
		b := j.db.NewBounty(j.t, storetest.NewBountyOptions{Deadline: &deadline})
		j.bounty(b, workflows.UpdateFund, "")
		j.bounty(b, workflows.UpdateOpen, "")
		j.awaitBounty(b, market.BountyExpired)
		j.note(workflows.BountyWorkflowID(b.ID), "bounty/expired")
	},
	"refused": func(j *journey) {
		b := j.db.NewBounty(j.t, storetest.NewBountyOptions{WithoutCredit: true})
		j.bounty(b, workflows.UpdateOpen, "bounty_not_funded")
		j.bounty(b, workflows.UpdateFund, "insufficient_credit")
		j.bounty(b, workflows.UpdatePay, "bounty_state_invalid")
		j.db.Credit(j.t, b.Creator.ID, storetest.Reward)
		j.bounty(b, workflows.UpdateFund, "")
		j.bounty(b, workflows.UpdateOpen, "")
		b.Submission = uuid.New()
		j.bounty(b, workflows.UpdateAccept, "submission_not_found")
		j.note(workflows.BountyWorkflowID(b.ID), "bounty/open_after_refusals")
	},
	"held": func(j *journey) {
		b := j.db.NewBounty(j.t, storetest.NewBountyOptions{Status: market.BountyAwarded})
		j.db.SuspendAgent(j.t, b.Submitter.ID)
		j.bounty(b, workflows.UpdatePay, "")
		j.awaitPayout(b, market.PayoutHeld)
		j.db.ReactivateAgent(j.t, b.Submitter.ID)
		j.awaitBounty(b, market.BountyPaid)
		j.note(workflows.PayoutWorkflowID(j.payout(b).ID), "payout/held_then_settled")
	},
	"failed": func(j *journey) {
		b := j.db.NewBounty(j.t, storetest.NewBountyOptions{Status: market.BountyAwarded})
		j.db.Freeze(j.t, b.Submitter.ID, true)
		j.bounty(b, workflows.UpdatePay, "")
		j.awaitPayout(b, market.PayoutFailed)
		j.db.Freeze(j.t, b.Submitter.ID, false)
		if err := j.flows.RetryPayout(j.t.Context(), j.payout(b), b.CourseID, b.Creator.ID); err != nil {
			j.t.Fatal(err)
		}
		j.awaitBounty(b, market.BountyPaid)
		j.note(workflows.PayoutWorkflowID(j.payout(b).ID), "payout/failed_then_retried")
		j.note(workflows.BountyWorkflowID(b.ID), "bounty/paid_after_failure")
	},
}

// journey drives bounties through the real worker.
type journey struct {
	t        *testing.T
	db       *storetest.DB
	temporal *workertest.Temporal
	flows    *api.Flows
	recorded map[string]string // by workflow id
}

func newJourney(t *testing.T, o workertest.Options) *journey {
	t.Helper()
	j := &journey{t: t, db: storetest.New(t), recorded: map[string]string{}}
	j.temporal = workertest.New(t, j.db.Store, o)
	j.flows = &api.Flows{Client: j.temporal.Client, TaskQueue: j.temporal.TaskQueue, Wait: 10 * time.Second}
	return j
}

// bounty asks for a transition on behalf of the bounty's creator; code is the refusal
// that it should meet.
func (j *journey) bounty(b storetest.Bounty, update, code string) {
	j.t.Helper()
	row, err := j.db.GetBounty(j.t.Context(), b.ID)
	if err != nil {
		j.t.Fatal(err)
	}
	err = j.flows.Bounty(j.t.Context(), row, update, workflows.BountyCommand{ActorAgentID: b.Creator.ID, SubmissionID: b.Submission})
	if code == "" && err != nil || code != "" && !market.HasCode(err, code) {
		j.t.Fatalf("%s: %v, want %q", update, err, code)
	}
}

// update sends an update under an id of the test's choice to the run that is there.
func (j *journey) update(b storetest.Bounty, name, id string) error {
	j.t.Helper()
	handle, err := j.temporal.Client.UpdateWorkflow(j.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: workflows.BountyWorkflowID(b.ID), UpdateID: id, UpdateName: name,
		Args: []any{workflows.BountyCommand{ActorAgentID: b.Creator.ID}}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(j.t.Context(), nil)
	}
	if refusal, ok := workflows.DomainError(err); ok {
		return refusal
	}
	return err
}

func (j *journey) payout(b storetest.Bounty) store.Payout {
	j.t.Helper()
	p, err := j.db.FindPayoutOfBounty(j.t.Context(), b.ID)
	if err != nil || p == nil {
		j.t.Fatalf("payout %v, %v", p, err)
	}
	return *p
}

func (j *journey) awaitPayout(b storetest.Bounty, status market.PayoutStatus) {
	j.t.Helper()
	workertest.Eventually(j.t, func() error {
		if p := j.payout(b); p.Status != status {
			return fmt.Errorf("the payout is %s", p.Status)
		}
		return nil
	})
}

// awaitBounty waits until the bounty's workflow has ended with the status.
func (j *journey) awaitBounty(b storetest.Bounty, status market.BountyStatus) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), 30*time.Second)
	defer cancel()
	var state workflows.BountyState
	err := j.temporal.Client.GetWorkflow(ctx, workflows.BountyWorkflowID(b.ID), "").Get(ctx, &state)
	if err != nil || state.Status != status {
		j.t.Fatalf("the workflow ended as %q, %v, want %q", state.Status, err, status)
	}
}

func (j *journey) note(workflowID, file string) { j.recorded[workflowID] = file }

// history reads a run's events.
func (j *journey) history(workflowID string) *historypb.History {
	j.t.Helper()
	h := &historypb.History{}
	events := j.temporal.Client.GetWorkflowHistory(j.t.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			j.t.Fatal(err)
		}
		h.Events = append(h.Events, event)
	}
	return h
}

// write keeps a history, without the name of the machine it was recorded on.
func (j *journey) write(workflowID, path string) {
	j.t.Helper()
	text := protojson.MarshalOptions{Multiline: true, Indent: " "}.Format(j.history(workflowID))
	if host, err := os.Hostname(); err == nil {
		text = strings.ReplaceAll(text, host, "worker")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		j.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		j.t.Fatal(err)
	}
}
