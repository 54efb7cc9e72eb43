package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// Bounties makes the transitions of bounties.
type Bounties struct {
	Store *store.Store
	// Grace is how long after the deadline the creator may still decide.
	Grace time.Duration
}

// LoadBounty reads where the bounty stands.
func (a *Bounties) LoadBounty(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	b, err := a.Store.GetBounty(ctx, s.BountyID)
	return a.state(ctx, b, err)
}

// FundBounty moves the reward into escrow.
func (a *Bounties) FundBounty(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	b, err := a.Store.FundBounty(ctx, s.BountyID, actor(s))
	return a.state(ctx, b, err)
}

// OpenBounty lets others submit.
func (a *Bounties) OpenBounty(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	b, err := a.Store.OpenBounty(ctx, s.BountyID, actor(s))
	return a.state(ctx, b, err)
}

// CancelBounty ends the bounty and refunds its escrow.
func (a *Bounties) CancelBounty(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	b, err := a.Store.CancelBounty(ctx, s.BountyID, actor(s))
	return a.state(ctx, b, err)
}

// AcceptSubmission awards the bounty.
func (a *Bounties) AcceptSubmission(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	b, err := a.Store.AcceptSubmission(ctx, s.BountyID, s.SubmissionID, actor(s))
	return a.state(ctx, b, err)
}

// CreatePayout begins to pay the bounty out.
func (a *Bounties) CreatePayout(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	if _, err := a.Store.CreatePayout(ctx, s.BountyID, actor(s)); err != nil {
		return workflows.BountyState{}, fail(err)
	}
	return a.LoadBounty(ctx, s)
}

// ExpireBounty ends a bounty whose deadline and grace have passed. While the database's
// clock says that they have not, it is an outage of time and worth a retry.
func (a *Bounties) ExpireBounty(ctx context.Context, s workflows.BountyStep) (workflows.BountyState, error) {
	b, err := a.Store.ExpireBounty(ctx, s.BountyID, a.Grace, actor(s))
	if market.HasCode(err, "bounty_not_due") {
		err = market.Unavailable("bounty_not_due", time.Second, "The worker's clock is behind the workflow's.")
	}
	return a.state(ctx, b, err)
}

func (a *Bounties) state(ctx context.Context, b store.Bounty, err error) (workflows.BountyState, error) {
	if err != nil {
		return workflows.BountyState{}, fail(err)
	}
	state := workflows.BountyState{Status: b.Status, FundingStatus: b.FundingStatus}
	if b.SubmissionDeadline != nil {
		expires := b.SubmissionDeadline.Add(a.Grace)
		state.ExpiresAt = &expires
	}
	if b.AcceptedSubmissionID == nil {
		return state, nil
	}
	submission, err := a.Store.GetSubmission(ctx, b.ID, *b.AcceptedSubmissionID, b.CreatorAgentID)
	if err != nil {
		return state, fail(err)
	}
	if submission.ProposedCourseVersionID != nil {
		state.Review = &workflows.ReviewInput{ReviewID: reviewOfSubmission(submission.ID), CourseID: b.CourseID, AcceptedIn: b.ID}
	}
	payout, err := a.Store.FindPayoutOfBounty(ctx, b.ID)
	if err != nil {
		return state, fail(err)
	}
	if payout != nil {
		state.Payout = &workflows.PayoutInput{PayoutID: payout.ID, BountyID: b.ID, CourseID: b.CourseID,
			RecipientAgentID: payout.RecipientAgentID, AmountCents: payout.AmountCents, Currency: payout.Currency}
	}
	return state, nil
}

// reviewOfSubmission is the id of the one review that accepting a submission asks for.
func reviewOfSubmission(submissionID uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(submissionID, []byte("publication-review"))
}

func actor(s workflows.BountyStep) store.Actor {
	return store.Actor{AgentID: s.ActorAgentID, RequestKey: s.RequestKey}
}
