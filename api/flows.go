package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// Flows starts and updates workflows on behalf of requests.
type Flows struct {
	// Client reaches the Temporal server.
	Client client.Client
	// TaskQueue is the queue that the workers serve.
	TaskQueue string
	// Wait bounds how long a request waits for a workflow's answer.
	Wait time.Duration

	turns turns
}

// Check reports whether Temporal answers.
func (f *Flows) Check(ctx context.Context) error {
	_, err := f.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// command is an update of the workflow that drives something, which is started first
// if it does not run. One id, one workflow, one update: sent twice, it is done once.
type command struct {
	workflowID string
	workflow   any
	input      any
	summary    string
	attributes temporal.SearchAttributes
	update     string
	// key names the request; it becomes the update's id.
	key  string
	args []any
}

// inTurn has act speak to the workflow when no other request of this process does. All
// of it, the waiting included, takes at most Wait.
func (f *Flows) inTurn(ctx context.Context, workflowID string, act func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	leave, err := f.turns.take(ctx, workflowID)
	if err != nil {
		return flowError(err)
	}
	defer leave()
	return act(ctx)
}

// do sends the command and waits for its answer: nil when the transition was made, the
// domain's refusal when it was not. An answer that takes longer than Wait, from a
// workflow that has accepted the command, is not waited for: nil is returned and the
// caller answers with the record as it stands.
func (f *Flows) do(ctx context.Context, c command) error {
	ctx, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	for {
		handle, err := f.send(ctx, c)
		if err == nil {
			err = handle.Get(ctx, nil)
			if accepted := ctx.Err() != nil && isTimeout(err); accepted {
				return nil
			}
		}
		if err == nil || ctx.Err() != nil || !isClosing(err) {
			return flowError(err)
		}
		// The run ended between being found and being asked: ask a new one, which will
		// read the truth from the database.
	}
}

func (f *Flows) send(ctx context.Context, c command) (client.WorkflowUpdateHandle, error) {
	start := f.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID:                       c.workflowID,
		TaskQueue:                f.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes:    c.attributes,
		StaticSummary:            c.summary,
		Memo:                     map[string]any{"request_id": RequestID(ctx)},
	}, c.workflow, c.input)
	return f.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID:     c.key,
			WorkflowID:   c.workflowID,
			UpdateName:   c.update,
			Args:         c.args,
			WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
}

// Bounty asks the bounty's workflow for a transition.
func (f *Flows) Bounty(ctx context.Context, b store.Bounty, update string, c workflows.BountyCommand) error {
	return f.do(ctx, command{
		workflowID: workflows.BountyWorkflowID(b.ID),
		workflow:   workflows.Bounty,
		input:      workflows.BountyInput{BountyID: b.ID},
		summary:    bountySummary(b),
		attributes: temporal.NewSearchAttributes(
			workflows.BountyKey.ValueSet(b.ID.String()), workflows.CourseKey.ValueSet(b.CourseID.String()),
			workflows.AgentKey.ValueSet(b.CreatorAgentID.String()), workflows.StatusKey.ValueSet(string(b.Status))),
		update: update,
		key:    update + "/" + commandKey(ctx),
		args:   []any{c},
	})
}

// RetryPayout asks the payout's workflow to settle a failed payout once more. One that
// has not failed is refused without a workflow.
func (f *Flows) RetryPayout(ctx context.Context, p store.Payout, courseID, actor uuid.UUID) error {
	if p.Status != market.PayoutFailed {
		return store.PayoutNotFailed(p.Status)
	}
	in := workflows.PayoutInput{PayoutID: p.ID, BountyID: p.BountyID, CourseID: courseID,
		RecipientAgentID: p.RecipientAgentID, AmountCents: p.AmountCents, Currency: p.Currency}
	return f.do(ctx, command{
		workflowID: workflows.PayoutWorkflowID(p.ID),
		workflow:   workflows.Payout,
		input:      in,
		summary:    in.Summary(),
		attributes: in.SearchAttributes(),
		update:     workflows.UpdateRetry,
		key:        workflows.UpdateRetry + "/" + commandKey(ctx),
		args:       []any{workflows.RetryCommand{ActorAgentID: actor}},
	})
}

// RequestReview starts the workflow of a new review, which queues it.
func (f *Flows) RequestReview(ctx context.Context, reviewID uuid.UUID, course store.CourseRow, actor uuid.UUID) error {
	courseID := course.Course.ID
	return f.do(ctx, command{
		workflowID: workflows.ReviewWorkflowID(reviewID),
		workflow:   workflows.PublicationReview,
		input:      workflows.ReviewInput{ReviewID: reviewID, CourseID: courseID},
		summary:    "Review of " + short(course.Course.Title),
		attributes: temporal.NewSearchAttributes(workflows.CourseKey.ValueSet(courseID.String()), workflows.AgentKey.ValueSet(actor.String())),
		update:     workflows.UpdateRequest,
		key:        workflows.UpdateRequest,
		args:       []any{workflows.ReviewRequest{ActorAgentID: actor}},
	})
}

// Review takes a reviewer's decision to the review's workflow.
func (f *Flows) Review(ctx context.Context, r store.Review, update string, d workflows.ReviewDecision) error {
	return f.do(ctx, command{
		workflowID: workflows.ReviewWorkflowID(r.ID),
		workflow:   workflows.PublicationReview,
		input:      workflows.ReviewInput{ReviewID: r.ID, CourseID: r.CourseID},
		summary:    "Review of " + short(r.CourseTitle),
		attributes: temporal.NewSearchAttributes(workflows.CourseKey.ValueSet(r.CourseID.String()),
			workflows.AgentKey.ValueSet(r.OwnerAgentID.String()), workflows.StatusKey.ValueSet(string(r.Status))),
		update: update,
		key:    update + "/" + commandKey(ctx),
		args:   []any{d},
	})
}

func bountySummary(b store.Bounty) string {
	return fmt.Sprintf("Bounty of %d.%02d %s: %s", b.RewardAmountCents/100, b.RewardAmountCents%100, b.Currency, short(b.Title))
}

// short cuts a title for a summary in the Temporal UI's list, which holds 200 bytes at most.
func short(title string) string {
	const most = 30
	if runes := []rune(title); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return title
}

// isTimeout reports that the time to wait ran out.
func isTimeout(err error) bool {
	var update *client.WorkflowUpdateServiceTimeoutOrCanceledError
	var deadline *serviceerror.DeadlineExceeded
	return errors.As(err, &update) || errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isClosing reports that the run closed before it could take the update.
func isClosing(err error) bool {
	var notFound *serviceerror.NotFound
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Type() == "AcceptedUpdateCompletedWorkflow"
	}
	return errors.As(err, &notFound)
}

// flowError turns what Temporal says into the domain's terms.
func flowError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := workflows.DomainError(err); ok {
		return e
	}
	e := market.Unavailable("workflow_unavailable", 2*time.Second,
		"The request was not taken up in time. It may still be done: look at the record before you try again.")
	e.Cause = err
	return e
}

// commandKey names a request to a workflow: the same Idempotency-Key, the same name.
func commandKey(ctx context.Context) string {
	if id := creationID(ctx); id != uuid.Nil {
		return id.String()
	}
	return uuid.NewString()
}
