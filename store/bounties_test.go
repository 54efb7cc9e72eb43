package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// A transition that runs again with its request key, as after a crash between commit
// and answer, finds its own work done; with another key it is judged anew.
func TestTransitionsRecogniseTheirOwnWork(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	tests := map[string]struct {
		make  storetest.NewBountyOptions
		do    func(storetest.Bounty, store.Actor) error
		again string // the code that another request gets
	}{
		"fund": {storetest.NewBountyOptions{}, func(b storetest.Bounty, by store.Actor) error {
			_, err := db.FundBounty(t.Context(), b.ID, by)
			return err
		}, ""},
		"open": {storetest.NewBountyOptions{Funded: true}, func(b storetest.Bounty, by store.Actor) error {
			_, err := db.OpenBounty(t.Context(), b.ID, by)
			return err
		}, "bounty_state_invalid"},
		"cancel": {storetest.NewBountyOptions{Status: market.BountyOpen}, func(b storetest.Bounty, by store.Actor) error {
			_, err := db.CancelBounty(t.Context(), b.ID, by)
			return err
		}, "bounty_state_invalid"},
		"accept": {storetest.NewBountyOptions{Status: market.BountyOpen}, func(b storetest.Bounty, by store.Actor) error {
			_, err := db.AcceptSubmission(t.Context(), b.ID, b.Submission, by)
			return err
		}, "bounty_state_invalid"},
		"pay": {storetest.NewBountyOptions{Status: market.BountyAwarded}, func(b storetest.Bounty, by store.Actor) error {
			_, err := db.CreatePayout(t.Context(), b.ID, by)
			return err
		}, ""},
	}
	t.Cleanup(func() { db.CheckBooks(t) })
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := db.NewBounty(t, test.make)
			by := store.Actor{AgentID: b.Creator.ID, RequestKey: "request-1"}
			wantCode(t, test.do(b, by), "")
			told := notifications(t, db, b)
			wantCode(t, test.do(b, by), "")
			if again := notifications(t, db, b); again != told {
				t.Errorf("%d notifications after the repetition, %d before", again, told)
			}
			wantCode(t, test.do(b, store.Actor{AgentID: b.Creator.ID, RequestKey: "request-2"}), test.again)
		})
	}
}

// notifications counts what the bounty's participants were told.
func notifications(t *testing.T, db *storetest.DB, b storetest.Bounty) int {
	t.Helper()
	var n int
	if err := db.Pool().QueryRow(t.Context(), "SELECT count(*) FROM notifications WHERE agent_id IN ($1, $2)", b.Creator.ID, b.Submitter.ID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The store judges by itself who may make a transition: an update can be sent to a
// workflow by others than the API.
func TestTransitionsAreTheCreators(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	stranger := store.Actor{AgentID: db.NewAgent(t, storetest.NewAgentOptions{}).ID}
	draft := db.NewBounty(t, storetest.NewBountyOptions{Funded: true})
	open := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	awarded := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
	tests := map[string]struct {
		do   func() (store.Bounty, error)
		code string
	}{
		"fund an unseen draft":   {func() (store.Bounty, error) { return db.FundBounty(t.Context(), draft.ID, stranger) }, "bounty_not_found"},
		"open an unseen draft":   {func() (store.Bounty, error) { return db.OpenBounty(t.Context(), draft.ID, stranger) }, "bounty_not_found"},
		"cancel an unseen draft": {func() (store.Bounty, error) { return db.CancelBounty(t.Context(), draft.ID, stranger) }, "bounty_not_found"},
		"cancel an open one":     {func() (store.Bounty, error) { return db.CancelBounty(t.Context(), open.ID, stranger) }, "not_bounty_creator"},
		"accept": {func() (store.Bounty, error) {
			return db.AcceptSubmission(t.Context(), open.ID, open.Submission, stranger)
		}, "not_bounty_creator"},
		"pay": {func() (store.Bounty, error) {
			_, err := db.CreatePayout(t.Context(), awarded.ID, stranger)
			return store.Bounty{}, err
		}, "not_bounty_creator"},
		"no such bounty": {func() (store.Bounty, error) { return db.FundBounty(t.Context(), uuid.New(), stranger) }, "bounty_not_found"},
		"another bounty's submission": {func() (store.Bounty, error) {
			return db.AcceptSubmission(t.Context(), open.ID, awarded.Submission, store.Actor{AgentID: open.Creator.ID})
		}, "submission_not_found"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := test.do()
			wantCode(t, err, test.code)
		})
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	soon := time.Now().Add(time.Hour)
	tests := map[string]struct {
		make   storetest.NewBountyOptions
		passed bool
		grace  time.Duration
		code   string
	}{
		"no deadline":           {storetest.NewBountyOptions{Status: market.BountyOpen}, false, 0, "bounty_not_due"},
		"before the deadline":   {storetest.NewBountyOptions{Status: market.BountyOpen, Deadline: &soon}, false, 0, "bounty_not_due"},
		"within the grace":      {storetest.NewBountyOptions{Status: market.BountyOpen}, true, time.Hour, "bounty_not_due"},
		"an open one":           {storetest.NewBountyOptions{Status: market.BountyOpen}, true, 0, ""},
		"a funded draft":        {storetest.NewBountyOptions{Funded: true}, true, 0, ""},
		"an unfunded draft":     {storetest.NewBountyOptions{}, true, 0, ""},
		"awarded in time":       {storetest.NewBountyOptions{Status: market.BountyAwarded}, true, 0, "bounty_state_invalid"},
		"cancelled before that": {storetest.NewBountyOptions{Status: market.BountyCancelled}, true, 0, "bounty_state_invalid"},
	}
	t.Cleanup(func() { db.CheckBooks(t) })
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := db.NewBounty(t, test.make)
			if test.passed {
				db.PassDeadline(t, b.ID)
			}
			got, err := db.ExpireBounty(t.Context(), b.ID, test.grace, store.Actor{RequestKey: "deadline"})
			wantCode(t, err, test.code)
			if test.code != "" {
				return
			}
			if left := db.Available(t, b.Creator.ID); left != storetest.Reward || got.Status != market.BountyExpired {
				t.Errorf("%s with %d cents at the creator", got.Status, left)
			}
		})
	}
}
