package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/course-marketplace/backend/internal/market"
)

// PayoutWorkflowID is the id of the one workflow that settles the payout.
func PayoutWorkflowID(id uuid.UUID) string { return "payout/" + id.String() }

// PayoutInput starts a Payout workflow. All but the id is for operators to read.
type PayoutInput struct {
	PayoutID         uuid.UUID `json:"payout_id"`
	BountyID         uuid.UUID `json:"bounty_id"`
	CourseID         uuid.UUID `json:"course_id"`
	RecipientAgentID uuid.UUID `json:"recipient_agent_id"`
	AmountCents      int64     `json:"amount_cents"`
	Currency         string    `json:"currency"`
}

// Summary is the line that the Temporal UI shows for the run.
func (in PayoutInput) Summary() string {
	return fmt.Sprintf("Pay %d.%02d %s to agent %s", in.AmountCents/100, in.AmountCents%100, in.Currency, in.RecipientAgentID)
}

// SearchAttributes are those the run has from its start.
func (in PayoutInput) SearchAttributes() temporal.SearchAttributes {
	return temporal.NewSearchAttributes(BountyKey.ValueSet(in.BountyID.String()), CourseKey.ValueSet(in.CourseID.String()),
		AgentKey.ValueSet(in.RecipientAgentID.String()), StatusKey.ValueSet(string(market.PayoutPending)))
}

// UpdateRetry asks a failed payout to try once more. It takes a RetryCommand, which an
// operator who sends it from the Temporal UI may leave out, and answers with a PayoutState.
const UpdateRetry = "retry"

// RetryCommand says which support agent asks for the retry; the zero value is an operator.
type RetryCommand struct {
	ActorAgentID uuid.UUID `json:"actor_agent_id,omitzero"`
}

// SignalRecheck wakes a held payout: its recipient may be active again.
const SignalRecheck = "recheck"

// The activities of a Payout workflow. All take a PayoutStep (those that wait: the id)
// and answer with a PayoutState.
const (
	ActivityBeginSettlement      = "BeginSettlement"
	ActivitySettlePayout         = "SettlePayout"
	ActivityFailPayout           = "FailPayout"
	ActivityRetryPayout          = "RetryPayout"
	ActivityAwaitRecipientActive = "AwaitRecipientActive"
	ActivityAwaitSettlement      = "AwaitSettlement"
)

// PayoutStep is one transition to make in the database.
type PayoutStep struct {
	PayoutID     uuid.UUID `json:"payout_id"`
	ActorAgentID uuid.UUID `json:"actor_agent_id,omitzero"`
	RequestKey   string    `json:"request_key,omitempty"`
	// FailureCode and FailureDetail say why it failed, for FailPayout.
	FailureCode   string `json:"failure_code,omitempty"`
	FailureDetail string `json:"failure_detail,omitempty"`
}

// PayoutState is what the workflow knows of the payout, as the database last told it.
type PayoutState struct {
	Status        market.PayoutStatus `json:"status"`
	FailureCode   string              `json:"failure_code,omitempty"`
	FailureDetail string              `json:"failure_detail,omitempty"`
	// Attempts is how often a settlement was begun.
	Attempts int32 `json:"attempts"`
	// MaxTries is how often one attempt may meet an outage before the payout fails
	// with settlement_attempts_exhausted.
	MaxTries int32 `json:"max_tries"`
}

// Payout settles a payout: it holds while the recipient is suspended, moves the money
// exactly once, and on failure waits for support to ask for a retry.
func Payout(ctx workflow.Context, in PayoutInput) (PayoutState, error) {
	p := &payout{in: in, turn: workflow.NewMutex(ctx), log: workflow.GetLogger(ctx)}
	if err := p.setup(ctx); err != nil {
		return p.state, err
	}
	return p.state, p.run(ctx)
}

type payout struct {
	in    PayoutInput
	state PayoutState
	// turn lets one transaction end before the next begins, so that what the last one
	// told is where the payout stands.
	turn workflow.Mutex
	log  log.Logger
}

func (p *payout) setup(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateRetry, p.retry, workflow.UpdateHandlerOptions{
		Validator:   p.validateRetry,
		Description: "Try a failed payout once more",
	})
}

// validateRetry turns away what cannot have failed. While a settlement is under way the
// database may know already that it failed: the retry takes its turn after it.
func (p *payout) validateRetry(_ workflow.Context, _ RetryCommand) error {
	switch p.state.Status {
	case "", market.PayoutSubmitted, market.PayoutFailed:
		return nil
	default:
		return Fail(market.Conflict("payout_not_failed", "The payout is %s; only a failed one can be retried.", p.state.Status).With("status", p.state.Status))
	}
}

// retry puts a failed payout back to submitted; run, which waits for that, goes on.
func (p *payout) retry(ctx workflow.Context, c RetryCommand) (PayoutState, error) {
	err := p.transact(ctx, requested("Submit the failed payout again"), ActivityRetryPayout, PayoutStep{
		PayoutID: p.in.PayoutID, ActorAgentID: c.ActorAgentID, RequestKey: workflow.GetCurrentUpdateInfo(ctx).ID})
	return p.state, err
}

func (p *payout) run(ctx workflow.Context) error {
	for !p.state.Status.Final() {
		if err := p.advance(ctx); err != nil {
			return err
		}
	}
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// advance takes the next step from where the payout stands.
func (p *payout) advance(ctx workflow.Context) error {
	switch p.state.Status {
	case market.PayoutSubmitted:
		return p.settle(ctx)
	case market.PayoutFailed:
		return workflow.Await(ctx, func() bool { return p.state.Status != market.PayoutFailed })
	case market.PayoutHeld:
		if err := p.awaitRecipient(ctx); err != nil {
			return err
		}
	}
	return p.transact(ctx, decided("Submit for settlement"), ActivityBeginSettlement, PayoutStep{PayoutID: p.in.PayoutID})
}

// settle moves the money. Outages are retried; a refusal, or running out of tries,
// fails the payout and leaves the escrow as it is.
func (p *payout) settle(ctx workflow.Context) error {
	if err := p.turn.Lock(ctx); err != nil {
		return err
	}
	defer p.turn.Unlock()
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: transactionTimeout,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2,
			MaximumInterval: time.Minute, MaximumAttempts: p.state.MaxTries},
		Summary: p.in.Summary(),
	})
	var state PayoutState
	err := workflow.ExecuteActivity(options, ActivitySettlePayout, PayoutStep{PayoutID: p.in.PayoutID}).Get(ctx, &state)
	if err == nil {
		return p.become(ctx, state)
	}
	if temporal.IsCanceledError(err) {
		return err
	}
	code, detail := "settlement_attempts_exhausted", "The settlement could not be completed; the escrow is untouched."
	if refusal, ok := DomainError(err); ok && !refusal.Retryable() {
		code, detail = refusal.Code, refusal.Detail
	}
	p.log.Warn("Settlement failed", "code", code, "error", err)
	fail := PayoutStep{PayoutID: p.in.PayoutID, FailureCode: code, FailureDetail: detail}
	if err := workflow.ExecuteActivity(persistentOptions(ctx, "Record the failure: "+code), ActivityFailPayout, fail).Get(ctx, &state); err != nil {
		return err
	}
	return p.become(ctx, state)
}

// awaitRecipient waits until the suspended recipient is active again. The activity asks
// from time to time; a recheck signal makes it ask now.
func (p *payout) awaitRecipient(ctx workflow.Context) error {
	poll, cancel := workflow.WithCancel(pollOptions(ctx, "Held: wait for the recipient's reactivation"))
	defer cancel()
	active := workflow.ExecuteActivity(poll, ActivityAwaitRecipientActive, p.in.PayoutID)
	var err error
	workflow.NewSelector(ctx).
		AddFuture(active, func(f workflow.Future) { err = f.Get(ctx, nil) }).
		AddReceive(workflow.GetSignalChannel(ctx, SignalRecheck), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		Select(ctx)
	return err
}

// transact runs one database transaction.
func (p *payout) transact(ctx workflow.Context, run transaction, activity string, s PayoutStep) error {
	if err := p.turn.Lock(ctx); err != nil {
		return err
	}
	defer p.turn.Unlock()
	var state PayoutState
	if err := run(ctx, activity, s).Get(ctx, &state); err != nil {
		return plain(err)
	}
	return p.become(ctx, state)
}

// become takes over what the database says and shows it to operators.
func (p *payout) become(ctx workflow.Context, state PayoutState) error {
	p.state = state
	text := fmt.Sprintf("**%s**, attempt %d", state.Status, state.Attempts)
	failure := FailureKey.ValueUnset()
	if state.Status == market.PayoutFailed {
		text += fmt.Sprintf("\n\n`%s`: %s\n\nWhen the cause is gone, send the update `%s`.", state.FailureCode, state.FailureDetail, UpdateRetry)
		failure = FailureKey.ValueSet(state.FailureCode)
	}
	workflow.SetCurrentDetails(ctx, text)
	return workflow.UpsertTypedSearchAttributes(ctx, StatusKey.ValueSet(string(state.Status)), failure)
}
