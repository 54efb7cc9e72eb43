package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/course-marketplace/backend/internal/market"
)

// BountyWorkflowID is the id of the one workflow that drives the bounty.
func BountyWorkflowID(id uuid.UUID) string { return "bounty/" + id.String() }

// BountyInput starts a Bounty workflow.
type BountyInput struct {
	BountyID uuid.UUID `json:"bounty_id"`
}

// The updates that a Bounty workflow takes. Each takes a BountyCommand and answers with
// a BountyState. The update's id is the request's key: the same id is done once.
const (
	UpdateFund   = "fund"
	UpdateOpen   = "open"
	UpdateCancel = "cancel"
	UpdateAccept = "accept"
	UpdatePay    = "pay"
)

// BountyCommand asks for a transition of a bounty on behalf of an agent.
type BountyCommand struct {
	ActorAgentID uuid.UUID `json:"actor_agent_id"`
	// SubmissionID says what to accept; the other updates leave it out.
	SubmissionID uuid.UUID `json:"submission_id,omitzero"`
}

// The activities of a Bounty workflow. All take a BountyStep (LoadBounty: the id) and
// answer with a BountyState.
const (
	ActivityLoadBounty       = "LoadBounty"
	ActivityFundBounty       = "FundBounty"
	ActivityOpenBounty       = "OpenBounty"
	ActivityCancelBounty     = "CancelBounty"
	ActivityAcceptSubmission = "AcceptSubmission"
	ActivityCreatePayout     = "CreatePayout"
	ActivityExpireBounty     = "ExpireBounty"
)

// BountyStep is one transition to make in the database.
type BountyStep struct {
	BountyID     uuid.UUID `json:"bounty_id"`
	ActorAgentID uuid.UUID `json:"actor_agent_id,omitzero"`
	SubmissionID uuid.UUID `json:"submission_id,omitzero"`
	// RequestKey makes the step recognise its own work when it runs again.
	RequestKey string `json:"request_key"`
}

// BountyState is what the workflow knows of the bounty, as the database last told it.
type BountyState struct {
	Status        market.BountyStatus  `json:"status"`
	FundingStatus market.FundingStatus `json:"funding_status"`
	// ExpiresAt is the submission deadline plus the grace; nil if there is none.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Payout is set once the bounty is being paid out.
	Payout *PayoutInput `json:"payout,omitempty"`
	// Review is set once a submission is accepted that proposes a version of the course.
	Review *ReviewInput `json:"review,omitempty"`
}

// Bounty drives a bounty from its first fund, open or cancel until it is paid,
// cancelled or expired. Agents act on it through updates; the deadline is a timer.
func Bounty(ctx workflow.Context, in BountyInput) (BountyState, error) {
	b := &bounty{id: in.BountyID, turn: workflow.NewMutex(ctx), log: workflow.GetLogger(ctx)}
	if err := b.setup(ctx); err != nil {
		return b.state, err
	}
	return b.state, b.run(ctx)
}

type bounty struct {
	id    uuid.UUID
	state BountyState
	// turn lets one transaction end before the next begins, so that what the last one
	// told is where the bounty stands.
	turn workflow.Mutex
	log  log.Logger
}

// setup takes updates from the very first task on, then reads where the bounty stands.
func (b *bounty) setup(ctx workflow.Context) error {
	for _, u := range []bountyUpdate{
		{name: UpdateFund, activity: ActivityFundBounty, summary: "Move the reward into escrow"},
		{name: UpdateOpen, activity: ActivityOpenBounty, summary: "Open for submissions"},
		{name: UpdateCancel, activity: ActivityCancelBounty, summary: "Cancel and refund"},
		{name: UpdateAccept, activity: ActivityAcceptSubmission, summary: "Accept the submission"},
		{name: UpdatePay, activity: ActivityCreatePayout, summary: "Create the payout", repeatable: true},
	} {
		err := workflow.SetUpdateHandlerWithOptions(ctx, u.name,
			func(ctx workflow.Context, c BountyCommand) (BountyState, error) { return b.do(ctx, u, c) },
			workflow.UpdateHandlerOptions{
				Validator:   func(_ workflow.Context, c BountyCommand) error { return b.validate(u, c) },
				Description: u.summary,
			})
		if err != nil {
			return err
		}
	}
	return b.step(ctx, ActivityLoadBounty, "Read the bounty", BountyStep{BountyID: b.id})
}

// bountyUpdate is one of the updates and the transaction that it makes.
type bountyUpdate struct {
	name, activity, summary string
	// repeatable updates answer as before when they come again after the end.
	repeatable bool
}

// validate turns away what needs no look at the database; it leaves no trace in the history.
func (b *bounty) validate(u bountyUpdate, c BountyCommand) error {
	if c.ActorAgentID == uuid.Nil {
		return Fail(market.Refused("actor_missing", "Say which agent acts: actor_agent_id."))
	}
	if b.state.Status.Final() && !u.repeatable {
		return Fail(market.Refused("bounty_state_invalid", "The bounty is %s and can no longer change.", b.state.Status).With("status", b.state.Status))
	}
	return nil
}

// do makes one transition for an agent.
func (b *bounty) do(ctx workflow.Context, u bountyUpdate, c BountyCommand) (BountyState, error) {
	err := b.transact(ctx, requested(u.summary), u.activity, BountyStep{
		BountyID: b.id, ActorAgentID: c.ActorAgentID, SubmissionID: c.SubmissionID,
		RequestKey: workflow.GetCurrentUpdateInfo(ctx).ID,
	})
	return b.state, err
}

// run waits for the bounty to be decided or to expire, then for its payout.
func (b *bounty) run(ctx workflow.Context) error {
	for b.undecided() {
		if err := b.awaitDecision(ctx); err != nil {
			return err
		}
	}
	if b.state.Review != nil {
		if err := b.startReview(ctx); err != nil {
			return err
		}
	}
	if err := workflow.Await(ctx, func() bool { return b.state.Status.Final() || b.state.Payout != nil }); err != nil {
		return err
	}
	if b.state.Payout != nil && !b.state.Status.Final() {
		if err := b.awaitPayout(ctx); err != nil {
			return err
		}
	}
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

func (b *bounty) undecided() bool {
	return b.state.Status == market.BountyDraft || b.state.Status == market.BountyOpen
}

// awaitDecision waits until a submission is accepted or the bounty cancelled; when the
// deadline and grace run out first, it expires the bounty.
func (b *bounty) awaitDecision(ctx workflow.Context) error {
	decided := func() bool { return !b.undecided() }
	if b.state.ExpiresAt == nil {
		return workflow.Await(ctx, decided)
	}
	in := b.state.ExpiresAt.Sub(workflow.Now(ctx))
	ok, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{Timeout: max(in, time.Millisecond),
		TimerOptions: workflow.TimerOptions{Summary: "Deadline and grace"}}, decided)
	if ok || err != nil {
		return err
	}
	err = b.step(ctx, ActivityExpireBounty, "Expire and refund", BountyStep{BountyID: b.id, RequestKey: "deadline"})
	if _, refused := DomainError(err); refused {
		// Somebody decided at the same moment; look again.
		return b.step(ctx, ActivityLoadBounty, "Read the bounty", BountyStep{BountyID: b.id})
	}
	return err
}

// startReview has the accepted version reviewed for publication, on its own: payment
// does not wait for it.
func (b *bounty) startReview(ctx workflow.Context) error {
	in := *b.state.Review
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            ReviewWorkflowID(in.ReviewID),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		TypedSearchAttributes: temporal.NewSearchAttributes(BountyKey.ValueSet(b.id.String()), CourseKey.ValueSet(in.CourseID.String())),
		StaticSummary:         "Review of an accepted version of course " + in.CourseID.String(),
	})
	err := workflow.ExecuteChildWorkflow(child, PublicationReview, in).GetChildWorkflowExecution().Get(ctx, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return err
}

// awaitPayout drives the payout as a child that outlives this run if need be.
func (b *bounty) awaitPayout(ctx workflow.Context) error {
	in := *b.state.Payout
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            PayoutWorkflowID(in.PayoutID),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		TypedSearchAttributes: in.SearchAttributes(),
		StaticSummary:         in.Summary(),
	})
	err := workflow.ExecuteChildWorkflow(child, Payout, in).Get(ctx, nil)
	if err != nil && ctx.Err() == nil {
		// Support runs the payout by itself, or an operator ended it and support will
		// start it anew: wait for what becomes of it.
		err = workflow.ExecuteActivity(pollOptions(ctx, "Wait for the payout"), ActivityAwaitSettlement, in.PayoutID).Get(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("payout %s: %w", in.PayoutID, err)
	}
	return b.step(ctx, ActivityLoadBounty, "Read the bounty", BountyStep{BountyID: b.id})
}

// step makes a transition that the workflow itself has come to: it is never given up.
func (b *bounty) step(ctx workflow.Context, activity, summary string, s BountyStep) error {
	return b.transact(ctx, decided(summary), activity, s)
}

// transact runs one database transaction and shows operators where the bounty stands now.
func (b *bounty) transact(ctx workflow.Context, run transaction, activity string, s BountyStep) error {
	if err := b.turn.Lock(ctx); err != nil {
		return err
	}
	defer b.turn.Unlock()
	var state BountyState
	if err := run(ctx, activity, s).Get(ctx, &state); err != nil {
		b.log.Info("Refused", "activity", activity, "error", err)
		return plain(err)
	}
	b.state = state
	workflow.SetCurrentDetails(ctx, b.details())
	return workflow.UpsertTypedSearchAttributes(ctx, StatusKey.ValueSet(string(state.Status)))
}

func (b *bounty) details() string {
	text := fmt.Sprintf("**%s**, funding **%s**", b.state.Status, b.state.FundingStatus)
	if b.undecided() && b.state.ExpiresAt != nil {
		text += fmt.Sprintf("\n\nExpires at %s if nothing is accepted.", b.state.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if b.state.Payout != nil {
		text += fmt.Sprintf("\n\nPayout: workflow `%s`", PayoutWorkflowID(b.state.Payout.PayoutID))
	}
	return text
}
