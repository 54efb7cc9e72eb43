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

// ReviewWorkflowID is the id of the one workflow that drives the publication review.
func ReviewWorkflowID(id uuid.UUID) string { return "publication-review/" + id.String() }

// ReviewInput starts a PublicationReview workflow.
type ReviewInput struct {
	ReviewID uuid.UUID `json:"review_id"`
	CourseID uuid.UUID `json:"course_id"`
	// AcceptedIn is the bounty whose accepted submission proposes the version to review.
	// Such a review queues itself; others are queued by the update request.
	AcceptedIn uuid.UUID `json:"accepted_in,omitzero"`
}

// The updates that a PublicationReview workflow takes. Each answers with a ReviewState.
const (
	// UpdateRequest takes a ReviewRequest and queues the review; it comes with the start.
	UpdateRequest = "request"
	// UpdateApprove and UpdateReject take a ReviewDecision.
	UpdateApprove = "approve"
	UpdateReject  = "reject"
)

// ReviewRequest asks for a review on behalf of the course's owner.
type ReviewRequest struct {
	ActorAgentID uuid.UUID `json:"actor_agent_id"`
}

// ReviewDecision is what a reviewer decided.
type ReviewDecision struct {
	ReviewerAgentID uuid.UUID `json:"reviewer_agent_id"`
	ReviewerUserID  uuid.UUID `json:"reviewer_user_id"`
	// Acknowledged accepts the capability mismatches of an approval.
	Acknowledged bool    `json:"acknowledged,omitempty"`
	Notes        *string `json:"notes,omitempty"`
	// Reason and CapabilityReasonCode belong to a rejection.
	Reason               string  `json:"reason,omitempty"`
	CapabilityReasonCode *string `json:"capability_reason_code,omitempty"`
}

// The activities of a PublicationReview workflow. All take a ReviewStep and answer with
// a ReviewState, but for ScanLayer, which takes a LayerScan.
const (
	ActivityRequestReview = "RequestReview"
	ActivityQueueAccepted = "QueueAcceptedVersion"
	ActivityBeginScan     = "BeginScan"
	ActivityScanLayer     = "ScanLayer"
	ActivityConcludeScan  = "ConcludeScan"
	ActivityFailReview    = "FailReview"
	ActivityApproveReview = "ApproveReview"
	ActivityRejectReview  = "RejectReview"
)

// ReviewStep is one transition to make in the database.
type ReviewStep struct {
	ReviewID     uuid.UUID       `json:"review_id"`
	CourseID     uuid.UUID       `json:"course_id,omitzero"`
	BountyID     uuid.UUID       `json:"bounty_id,omitzero"`
	ActorAgentID uuid.UUID       `json:"actor_agent_id,omitzero"`
	RequestKey   string          `json:"request_key,omitempty"`
	Decision     *ReviewDecision `json:"decision,omitempty"`
	FailureCode  string          `json:"failure_code,omitempty"`
}

// LayerScan has one layer of the scanner read the version under review.
type LayerScan struct {
	ReviewID  uuid.UUID `json:"review_id"`
	VersionID uuid.UUID `json:"version_id"`
	Layer     string    `json:"layer"`
}

// LayerOutcome is what a layer came to; what it saw is in the database.
type LayerOutcome struct {
	Layer  string `json:"layer"`
	Status string `json:"status"`
	// Findings does not count the checks that passed.
	Findings int `json:"findings"`
}

// ReviewState is what the workflow knows of the review, as the database last told it.
type ReviewState struct {
	Status    market.ReviewStatus `json:"status"`
	VersionID uuid.UUID           `json:"version_id,omitzero"`
	Verdict   string              `json:"verdict,omitempty"`
	RiskScore int32               `json:"risk_score,omitempty"`
	Findings  int32               `json:"findings,omitempty"`
	// Layers are those to run in parallel.
	Layers []string `json:"layers,omitempty"`
}

// CapabilitiesLayer compares what the other layers observed, so it runs after them.
const CapabilitiesLayer = "capabilities"

// PublicationReview has a version scanned, then waits for a person to approve or reject
// it. It never approves anything by itself.
func PublicationReview(ctx workflow.Context, in ReviewInput) (ReviewState, error) {
	r := &review{in: in, turn: workflow.NewMutex(ctx), log: workflow.GetLogger(ctx)}
	if err := r.setup(ctx); err != nil {
		return r.state, err
	}
	return r.state, r.run(ctx)
}

type review struct {
	in    ReviewInput
	state ReviewState
	// refused is set when a run without a review to drive has turned its caller away.
	refused bool
	layers  []LayerOutcome
	// turn lets one transaction end before the next begins.
	turn workflow.Mutex
	log  log.Logger
}

func (r *review) setup(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateRequest, r.request, workflow.UpdateHandlerOptions{
		Description: "Queue the review"})
	if err != nil {
		return err
	}
	for _, d := range []struct{ name, activity, summary string }{
		{UpdateApprove, ActivityApproveReview, "Approve and publish"},
		{UpdateReject, ActivityRejectReview, "Reject and tell the owner"},
	} {
		err := workflow.SetUpdateHandlerWithOptions(ctx, d.name,
			func(ctx workflow.Context, decision ReviewDecision) (ReviewState, error) {
				return r.decide(ctx, d.activity, d.summary, decision)
			},
			workflow.UpdateHandlerOptions{Validator: r.validateDecision, Description: d.summary})
		if err != nil {
			return err
		}
	}
	return nil
}

// request queues the review in the database; the run goes on from there.
func (r *review) request(ctx workflow.Context, q ReviewRequest) (ReviewState, error) {
	err := r.transact(ctx, requested("Queue the review"), ActivityRequestReview, ReviewStep{
		ReviewID: r.in.ReviewID, CourseID: r.in.CourseID, ActorAgentID: q.ActorAgentID, RequestKey: workflow.GetCurrentUpdateInfo(ctx).ID})
	if err != nil && r.state.Status == "" {
		r.refused = true
	}
	return r.state, err
}

func (r *review) validateDecision(_ workflow.Context, d ReviewDecision) error {
	if d.ReviewerAgentID == uuid.Nil || d.ReviewerUserID == uuid.Nil {
		return Fail(market.Refused("actor_missing", "Say who decides: reviewer_agent_id and reviewer_user_id."))
	}
	if r.state.Status != "" && r.state.Status != market.ReviewHumanReview {
		return Fail(market.Conflict("review_not_pending", "The review is %s; only one in human_review can be decided.", r.state.Status).With("status", r.state.Status))
	}
	return nil
}

func (r *review) decide(ctx workflow.Context, activity, summary string, d ReviewDecision) (ReviewState, error) {
	err := r.transact(ctx, requested(summary), activity, ReviewStep{
		ReviewID: r.in.ReviewID, RequestKey: workflow.GetCurrentUpdateInfo(ctx).ID, Decision: &d})
	if err != nil && r.state.Status == "" {
		r.refused = true
	}
	if err == nil && r.state.Status == market.ReviewCancelled {
		err = Fail(market.Conflict("course_blocked", "The course was blocked; its review is cancelled."))
	}
	return r.state, err
}

// queueAccepted queues the review of a version that a bounty's creator has accepted.
// Where there can be none, for the course is blocked or already under review, the run
// ends; the owner may ask for one later.
func (r *review) queueAccepted(ctx workflow.Context) error {
	err := r.transact(ctx, decided("Queue the accepted version"), ActivityQueueAccepted,
		ReviewStep{ReviewID: r.in.ReviewID, BountyID: r.in.AcceptedIn})
	if e, ok := DomainError(err); ok {
		r.refused = true
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("Not reviewed: `%s`, %s", e.Code, e.Detail))
		return nil
	}
	return err
}

// run scans, then waits for the decision.
func (r *review) run(ctx workflow.Context) error {
	if r.in.AcceptedIn != uuid.Nil {
		if err := r.queueAccepted(ctx); err != nil {
			return err
		}
	}
	if err := workflow.Await(ctx, func() bool { return r.refused || r.state.Status != "" }); err != nil {
		return err
	}
	if r.state.Status == market.ReviewQueued {
		if err := r.scan(ctx); err != nil {
			return err
		}
	}
	if err := workflow.Await(ctx, func() bool { return r.refused || r.state.Status.Final() }); err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// scan runs the layers in parallel, then compares the capabilities and draws the
// conclusion. A layer that keeps failing fails the review; the owner may ask again.
func (r *review) scan(ctx workflow.Context) error {
	if err := r.step(ctx, ActivityBeginScan, "Begin the scan", ""); err != nil {
		return err
	}
	if r.state.Status != market.ReviewScanning {
		return nil
	}
	if err := r.runLayers(ctx, r.state.Layers); err != nil {
		return r.giveUp(ctx, err)
	}
	if err := r.runLayers(ctx, []string{CapabilitiesLayer}); err != nil {
		return r.giveUp(ctx, err)
	}
	return r.step(ctx, ActivityConcludeScan, "Hand over to the reviewers", "")
}

func (r *review) runLayers(ctx workflow.Context, layers []string) error {
	scans := make([]workflow.Future, len(layers))
	for i, layer := range layers {
		options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 10 * time.Minute,
			HeartbeatTimeout:    30 * time.Second,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2,
				MaximumInterval: time.Minute, MaximumAttempts: 5},
			Summary: "Scan: " + layer,
		})
		scans[i] = workflow.ExecuteActivity(options, ActivityScanLayer, LayerScan{ReviewID: r.in.ReviewID, VersionID: r.state.VersionID, Layer: layer})
	}
	for _, scan := range scans {
		var outcome LayerOutcome
		if err := scan.Get(ctx, &outcome); err != nil {
			return err
		}
		r.layers = append(r.layers, outcome)
		workflow.SetCurrentDetails(ctx, r.details())
	}
	return nil
}

func (r *review) giveUp(ctx workflow.Context, cause error) error {
	if temporal.IsCanceledError(cause) {
		return cause
	}
	code := "scan_failed"
	if e, ok := DomainError(cause); ok {
		code = e.Code
	}
	r.log.Warn("Scan failed", "code", code, "error", cause)
	if err := workflow.UpsertTypedSearchAttributes(ctx, FailureKey.ValueSet(code)); err != nil {
		return err
	}
	return r.step(ctx, ActivityFailReview, "Record the failure: "+code, code)
}

// step makes a transition that the workflow itself has come to: it is never given up.
func (r *review) step(ctx workflow.Context, activity, summary, failureCode string) error {
	return r.transact(ctx, decided(summary), activity, ReviewStep{ReviewID: r.in.ReviewID, FailureCode: failureCode})
}

func (r *review) transact(ctx workflow.Context, run transaction, activity string, s ReviewStep) error {
	if err := r.turn.Lock(ctx); err != nil {
		return err
	}
	defer r.turn.Unlock()
	var state ReviewState
	if err := run(ctx, activity, s).Get(ctx, &state); err != nil {
		return plain(err)
	}
	r.state = state
	workflow.SetCurrentDetails(ctx, r.details())
	return workflow.UpsertTypedSearchAttributes(ctx, StatusKey.ValueSet(string(state.Status)))
}

func (r *review) details() string {
	text := fmt.Sprintf("**%s**", r.state.Status)
	if r.state.Verdict != "" {
		text += fmt.Sprintf(": the scanner advises **%s**, risk %d of 100, findings: %d", r.state.Verdict, r.state.RiskScore, r.state.Findings)
	}
	if len(r.layers) > 0 {
		text += "\n" // a list begins after an empty line
	}
	for _, l := range r.layers {
		text += fmt.Sprintf("\n- %s: %s, findings: %d", l.Layer, l.Status, l.Findings)
	}
	return text
}
