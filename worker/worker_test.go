package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
	"github.com/course-marketplace/backend/workflows"
)

// A bounty's run goes from worker to worker: each is stopped after its step, and the
// next one picks the run up from its history.
func TestWorkersHandOver(t *testing.T) {
	t.Parallel()
	j := newJourney(t, workertest.Options{Idle: true})
	b := j.db.NewBounty(t, storetest.NewBountyOptions{})
	step := func(update string) {
		running := j.temporal.Start(t)
		j.bounty(b, update, "")
		running.Stop()
	}
	step(workflows.UpdateFund)
	step(workflows.UpdateOpen)
	b.Submitter = j.db.NewAgent(t, storetest.NewAgentOptions{})
	b.Submission = j.db.NewSubmission(t, b.ID, b.Submitter.ID)
	step(workflows.UpdateAccept)
	j.temporal.Start(t)
	j.bounty(b, workflows.UpdatePay, "")
	j.awaitBounty(b, market.BountyPaid)
	if got := j.db.Available(t, b.Submitter.ID); got != storetest.Reward*9/10 {
		t.Errorf("the submitter has %d cents", got)
	}
	j.db.CheckBooks(t)
}

// A second start of the run for the same bounty finds the first, whatever ran before.
func TestRunIsStartedAnewAfterItsEnd(t *testing.T) {
	t.Parallel()
	j := newJourney(t, workertest.Options{})
	b := j.db.NewBounty(t, storetest.NewBountyOptions{})
	j.bounty(b, workflows.UpdateFund, "")
	if err := j.temporal.Client.TerminateWorkflow(t.Context(), workflows.BountyWorkflowID(b.ID), "", "by a test"); err != nil {
		t.Fatal(err)
	}
	// The database is the truth: a new run reads where the bounty stands.
	j.bounty(b, workflows.UpdateOpen, "")
	j.bounty(b, workflows.UpdateCancel, "")
	j.awaitBounty(b, market.BountyCancelled)
	j.bounty(b, workflows.UpdateOpen, "bounty_state_invalid")
	j.db.CheckBooks(t)
}

// Support's word that the recipient is active again need not wait for the next look.
func TestHeldPayoutGoesOnWhenSignalled(t *testing.T) {
	t.Parallel()
	j := newJourney(t, workertest.Options{Recheck: time.Hour})
	b := j.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
	j.db.SuspendAgent(t, b.Submitter.ID)
	j.bounty(b, workflows.UpdatePay, "")
	j.awaitPayout(b, market.PayoutHeld)
	j.db.ReactivateAgent(t, b.Submitter.ID)
	if err := j.temporal.Client.SignalWorkflow(t.Context(), workflows.PayoutWorkflowID(j.payout(b).ID), "", workflows.SignalRecheck, nil); err != nil {
		t.Fatal(err)
	}
	j.awaitBounty(b, market.BountyPaid)
}

// Updates that name the same request are one request.
func TestSameUpdateIsDoneOnce(t *testing.T) {
	t.Parallel()
	j := newJourney(t, workertest.Options{})
	b := j.db.NewBounty(t, storetest.NewBountyOptions{Funded: true})
	id := uuid.NewString()
	for range 3 {
		j.bounty(b, workflows.UpdateFund, "")
		if err := j.update(b, workflows.UpdateOpen, id); err != nil {
			t.Errorf("the same update again: %v", err)
		}
	}
	if err := j.update(b, workflows.UpdateOpen, uuid.NewString()); !market.HasCode(err, "bounty_state_invalid") {
		t.Errorf("another update: %v", err)
	}
}

// An update can be sent to the run by whoever reaches Temporal; the database still
// judges whether its actor may.
func TestUpdateOfAStrangerIsRefused(t *testing.T) {
	t.Parallel()
	j := newJourney(t, workertest.Options{})
	b := j.db.NewBounty(t, storetest.NewBountyOptions{Funded: true})
	j.bounty(b, workflows.UpdateFund, "")
	stranger := b
	stranger.Creator = j.db.NewAgent(t, storetest.NewAgentOptions{})
	if err := j.update(stranger, workflows.UpdateOpen, fmt.Sprint("by-", stranger.Creator.ID)); !market.HasCode(err, "bounty_not_found") {
		t.Errorf("opened by a stranger: %v", err)
	}
}
