package storetest

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// Reward is the reward of every bounty for which a test names none, in cents.
const Reward = 5_000

// Bounty is a bounty that a test acts on, with everybody who takes part.
type Bounty struct {
	ID, CourseID uuid.UUID
	Creator      Agent
	// Submitter and Submission are set from open on.
	Submitter  Agent
	Submission uuid.UUID
}

// NewBountyOptions choose what a test cares about; the rest is made up.
type NewBountyOptions struct {
	// Creator, who is given the reward in credit unless WithoutCredit says otherwise.
	Creator       Agent
	WithoutCredit bool
	CourseID      uuid.UUID
	RewardCents   int64
	Deadline      *time.Time
	// Status is how far the bounty has come, draft if it is empty.
	Status market.BountyStatus
	// Funded puts a draft's reward into escrow; later states have it there anyway.
	Funded bool
}

// NewBounty makes a bounty and brings it to the given status by the store's own
// transitions, without a workflow.
func (db *DB) NewBounty(t testing.TB, o NewBountyOptions) Bounty {
	t.Helper()
	b := Bounty{Creator: o.Creator, CourseID: o.CourseID}
	if b.Creator.ID == uuid.Nil {
		b.Creator = db.NewAgent(t, NewAgentOptions{})
	}
	if b.CourseID == uuid.Nil {
		b.CourseID = db.NewCourse(t, NewCourseOptions{Owner: b.Creator.ID})
	}
	reward := cmp.Or(o.RewardCents, Reward)
	if !o.WithoutCredit {
		db.Credit(t, b.Creator.ID, reward)
	}
	by := store.Actor{AgentID: b.Creator.ID}
	made, err := db.CreateBounty(t.Context(), store.NewBounty{CourseID: b.CourseID, Title: "Fix chapter 3", Description: "The example does not compile.",
		RewardCents: reward, Currency: market.Currency, AcceptsCodehostPRs: true, Deadline: o.Deadline}, by)
	must(t, err)
	b.ID = made.ID
	db.advance(t, &b, o, by)
	return b
}

func (db *DB) advance(t testing.TB, b *Bounty, o NewBountyOptions, by store.Actor) {
	t.Helper()
	status := cmp.Or(o.Status, market.BountyDraft)
	if status == market.BountyDraft && !o.Funded {
		return
	}
	_, err := db.FundBounty(t.Context(), b.ID, by)
	must(t, err)
	if status == market.BountyDraft {
		return
	}
	_, err = db.OpenBounty(t.Context(), b.ID, by)
	must(t, err)
	b.Submitter = db.NewAgent(t, NewAgentOptions{})
	b.Submission = db.NewSubmission(t, b.ID, b.Submitter.ID)
	switch status {
	case market.BountyCancelled:
		_, err = db.CancelBounty(t.Context(), b.ID, by)
	case market.BountyExpired:
		db.PassDeadline(t, b.ID)
		_, err = db.ExpireBounty(t.Context(), b.ID, 0, store.Actor{})
	case market.BountyAwarded, market.BountyPaid:
		_, err = db.AcceptSubmission(t.Context(), b.ID, b.Submission, by)
	}
	must(t, err)
	if status == market.BountyPaid {
		payout, err := db.CreatePayout(t.Context(), b.ID, by)
		must(t, err)
		_, err = db.BeginSettlement(t.Context(), payout.ID)
		must(t, err)
		_, err = db.SettlePayout(t.Context(), payout.ID)
		must(t, err)
	}
}

// NewSubmission sends an agent's submission to an open bounty.
func (db *DB) NewSubmission(t testing.TB, bountyID, agentID uuid.UUID) uuid.UUID {
	t.Helper()
	s, err := db.CreateSubmission(t.Context(), store.NewSubmission{BountyID: bountyID, Title: "Corrected", Description: "It compiles now."}, store.Actor{AgentID: agentID})
	must(t, err)
	return s.ID
}

// PassDeadline gives a bounty a submission deadline that has just passed.
func (db *DB) PassDeadline(t testing.TB, bountyID uuid.UUID) {
	t.Helper()
	db.execute(t, "UPDATE bounties SET submission_deadline = now() - interval '1 second' WHERE id = $1", bountyID)
}

// Freeze freezes or unfreezes an agent's credit account.
func (db *DB) Freeze(t testing.TB, agentID uuid.UUID, frozen bool) {
	t.Helper()
	_, err := db.SetAccountFrozen(t.Context(), agentID, frozen, store.Actor{})
	must(t, err)
}

// Available is what an agent can spend, in cents.
func (db *DB) Available(t testing.TB, agentID uuid.UUID) int64 {
	t.Helper()
	balance, err := db.GetCreditBalance(t.Context(), agentID)
	must(t, err)
	return *balance.AvailableCents
}

// CheckBooks fails the test unless every balance, transaction and escrow is right. It
// may be called in the test's cleanup.
func (db *DB) CheckBooks(t testing.TB) {
	t.Helper()
	report, err := db.VerifyLedger(context.WithoutCancel(t.Context()))
	must(t, err)
	if !report.Clean() {
		t.Errorf("the books are wrong: %+v", report)
	}
}
