package store_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// A submission that is sent again under the id that was chosen for it is the first one,
// even when the bounty no longer takes any.
func TestSubmissionTakenUpAfterACrash(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	by := store.Actor{AgentID: db.NewAgent(t, storetest.NewAgentOptions{}).ID}
	n := store.NewSubmission{ID: uuid.Must(uuid.NewV7()), BountyID: b.ID, Title: "t", Description: "d"}
	first, err := db.CreateSubmission(t.Context(), n, by)
	if err != nil {
		t.Fatal(err)
	}
	db.PassDeadline(t, b.ID)
	again, err := db.CreateSubmission(t.Context(), n, by)
	if err != nil || again.ID != first.ID {
		t.Errorf("%v, %v", again.ID, err)
	}
}

func TestWhoDecidesOnASubmission(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	other := db.NewAgent(t, storetest.NewAgentOptions{})
	db.NewSubmission(t, b.ID, other.ID)
	tests := map[string]struct {
		decide func(by store.Actor) error
		by     storetest.Agent
		code   string
	}{
		"the creator withdraws":       {withdraw(t, db, b), b.Creator, "not_submitter"},
		"another submitter withdraws": {withdraw(t, db, b), other, "submission_not_found"},
		"the submitter rejects":       {reject(t, db, b), b.Submitter, "not_bounty_creator"},
		"another submitter rejects":   {reject(t, db, b), other, "submission_not_found"},
		"a stranger reads":            {read(t, db, b), other, "submission_not_found"},
		"the creator reads":           {read(t, db, b), b.Creator, ""},
		"the submitter reads":         {read(t, db, b), b.Submitter, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCode(t, test.decide(store.Actor{AgentID: test.by.ID}), test.code)
		})
	}
}

func withdraw(t *testing.T, db *storetest.DB, b storetest.Bounty) func(store.Actor) error {
	return func(by store.Actor) error {
		_, err := db.WithdrawSubmission(t.Context(), b.ID, b.Submission, by)
		return err
	}
}

func reject(t *testing.T, db *storetest.DB, b storetest.Bounty) func(store.Actor) error {
	return func(by store.Actor) error {
		_, err := db.RejectSubmission(t.Context(), b.ID, b.Submission, by)
		return err
	}
}

func read(t *testing.T, db *storetest.DB, b storetest.Bounty) func(store.Actor) error {
	return func(by store.Actor) error {
		_, err := db.GetSubmission(t.Context(), b.ID, b.Submission, by.AgentID)
		return err
	}
}
