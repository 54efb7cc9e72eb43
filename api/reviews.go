package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// RequestPublication asks for the latest version of a course to be reviewed.
func (s *Server) RequestPublication(ctx context.Context, in RequestPublicationRequestObject) (RequestPublicationResponseObject, error) {
	id := creationID(ctx)
	if id == uuid.Nil {
		id = uuid.Must(uuid.NewV7())
	}
	// Refused here, no workflow is started; what changes meanwhile, the workflow refuses.
	if err := s.store.CheckReviewRequest(ctx, id, in.CourseID, actorOf(ctx)); err != nil {
		return nil, err
	}
	course, err := s.store.GetCourse(ctx, in.CourseID)
	if err != nil {
		return nil, err
	}
	if err := s.flows.RequestReview(ctx, id, course, principalOf(ctx).AgentID); err != nil {
		return nil, err
	}
	r, err := s.store.GetReview(ctx, id)
	if market.HasCode(err, "review_not_found") {
		err = market.Unavailable("review_delayed", 2*time.Second, "The review is being queued; ask for the latest review in a moment.")
	}
	if err != nil {
		return nil, err
	}
	return RequestPublication201JSONResponse{ID: r.ID, CourseID: r.CourseID, VersionID: r.VersionID, Status: ReviewStatus(r.Status), CreatedAt: r.CreatedAt}, nil
}

// GetReviewStatus reads the latest review of a course, for its owner and for reviewers.
func (s *Server) GetReviewStatus(ctx context.Context, in GetReviewStatusRequestObject) (GetReviewStatusResponseObject, error) {
	me := principalOf(ctx)
	r, err := s.store.GetLatestReview(ctx, in.CourseID, me.AgentID, me.Has(market.RoleReviewer, market.RoleAdmin))
	if err != nil {
		return nil, err
	}
	layers, err := s.reviewLayers(ctx, r, in.Params.IncludePass != nil && *in.Params.IncludePass)
	if err != nil {
		return nil, err
	}
	c, err := capabilitiesOf(r)
	if err != nil {
		return nil, err
	}
	answer := GetReviewStatus200JSONResponse{
		ID: r.ID, CourseID: r.CourseID, VersionID: r.VersionID, InitiatedBy: r.InitiatedBy, Status: ReviewStatus(r.Status),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
		CapabilitiesStatus: c.status, CapabilityMismatches: c.mismatches, CapabilityRiskScore: c.risk,
		DeclaredCapabilities: c.declared, ObservedCapabilities: c.observed, FailureCode: r.FailureCode, Scan: scanAdvice(r), Decision: c.decision(r),
	}
	if layers != nil {
		answer.Findings = []ReviewFindingResponse{}
	}
	for _, layer := range layers {
		answer.Findings = append(answer.Findings, layer.Findings...)
	}
	return answer, nil
}

// ListHumanReviewQueue lists what waits for a reviewer, oldest first.
func (s *Server) ListHumanReviewQueue(ctx context.Context, in ListHumanReviewQueueRequestObject) (ListHumanReviewQueueResponseObject, error) {
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor)
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	rows, total, err := s.store.ListReviewQueue(ctx, page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(r store.Review) store.Position { return store.Position{CreatedAt: r.CreatedAt, ID: r.ID} })
	return ListHumanReviewQueue200JSONResponse{Items: mapSlice(rows, queueItem), NextCursor: next, Total: int(total)}, nil
}

func queueItem(r store.Review) QueueItemResponse {
	return QueueItemResponse{
		ReviewID: r.ID, CourseID: r.CourseID, VersionID: r.VersionID, CourseTitle: r.CourseTitle, CourseStatus: CourseStatus(r.CourseStatus),
		ReviewStatus: ReviewStatus(r.Status), OwnerAgentID: r.OwnerAgentID, InitiatedBy: r.InitiatedBy, SubmittedAt: r.CreatedAt,
		HighestSeverity: (*FindingSeverity)(r.HighestSeverity), FindingsCount: int(r.FindingsCount),
		CapabilitiesStatus: (*CapabilitiesStatus)(r.CapabilitiesStatus), CapabilityRiskScore: intOrNil(r.CapabilityRiskScore),
	}
}

// GetHumanReviewDetail reads a review with everything the scanner found.
func (s *Server) GetHumanReviewDetail(ctx context.Context, in GetHumanReviewDetailRequestObject) (GetHumanReviewDetailResponseObject, error) {
	r, err := s.reviewForDecision(ctx, in.ReviewID)
	if err != nil {
		return nil, err
	}
	layers, err := s.reviewLayers(ctx, r, false)
	if err != nil {
		return nil, err
	}
	c, err := capabilitiesOf(r)
	if err != nil {
		return nil, err
	}
	findings := FindingsByLayer{}
	for _, layer := range layers {
		findings[layer.Layer] = layer.Findings
	}
	return GetHumanReviewDetail200JSONResponse{
		ReviewID: r.ID, CourseID: r.CourseID, VersionID: r.VersionID, CourseTitle: r.CourseTitle, CourseStatus: CourseStatus(r.CourseStatus),
		ReviewStatus: ReviewStatus(r.Status), InitiatedBy: r.InitiatedBy, OwnerAgentID: r.OwnerAgentID, SubmittedAt: r.CreatedAt,
		FindingsByLayer: findings, CompletedAt: r.CompletedAt, ReviewedAt: r.ReviewedAt, DecisionReason: r.DecisionReason,
		ReviewedByUserID: r.ReviewedByUserID, ReviewerNotes: r.ReviewerNotes,
		CapabilitiesStatus: c.status, CapabilityMismatches: c.mismatches, CapabilityRiskScore: c.risk,
		DeclaredCapabilities: c.declared, ObservedCapabilities: c.observed, Scan: scanAdvice(r),
	}, nil
}

// ApproveHumanReview publishes the version under review.
func (s *Server) ApproveHumanReview(ctx context.Context, in ApproveHumanReviewRequestObject) (ApproveHumanReviewResponseObject, error) {
	r, err := s.decide(ctx, in.ReviewID, workflows.UpdateApprove, workflows.ReviewDecision{
		Acknowledged: in.Body.AcknowledgeCapabilityMismatches, Notes: in.Body.ReviewerNotes})
	if err != nil {
		return nil, err
	}
	return ApproveHumanReview200JSONResponse{ReviewID: r.ID, CourseID: r.CourseID, Status: ReviewStatus(r.Status), ReviewedAt: *r.ReviewedAt}, nil
}

// RejectHumanReview sends the version back to its owner.
func (s *Server) RejectHumanReview(ctx context.Context, in RejectHumanReviewRequestObject) (RejectHumanReviewResponseObject, error) {
	r, err := s.decide(ctx, in.ReviewID, workflows.UpdateReject, workflows.ReviewDecision{
		Reason: in.Body.DecisionReason, Notes: &in.Body.ReviewerNotes, CapabilityReasonCode: (*string)(in.Body.CapabilityReasonCode)})
	if err != nil {
		return nil, err
	}
	return RejectHumanReview200JSONResponse{ReviewID: r.ID, CourseID: r.CourseID, Status: ReviewStatus(r.Status), ReviewedAt: *r.ReviewedAt}, nil
}

func (s *Server) decide(ctx context.Context, id uuid.UUID, update string, d workflows.ReviewDecision) (store.Review, error) {
	if _, err := s.reviewForDecision(ctx, id); err != nil {
		return store.Review{}, err
	}
	me := principalOf(ctx)
	d.ReviewerAgentID, d.ReviewerUserID = me.AgentID, me.UserID
	err := s.flows.inTurn(ctx, workflows.ReviewWorkflowID(id), func(ctx context.Context) error {
		r, err := s.store.GetReview(ctx, id)
		if err != nil {
			return err
		}
		if r.Status != market.ReviewHumanReview {
			return store.ReviewNotPending(r.Status)
		}
		return s.flows.Review(ctx, r, update, d)
	})
	if err != nil {
		return store.Review{}, err
	}
	r, err := s.store.GetReview(ctx, id)
	if err == nil && r.ReviewedAt == nil {
		err = market.Unavailable("decision_delayed", 2*time.Second, "The decision is being recorded; read the review in a moment.")
	}
	return r, err
}

// GetReviewBundle issues single-use links to every file of the version under review.
func (s *Server) GetReviewBundle(ctx context.Context, in GetReviewBundleRequestObject) (GetReviewBundleResponseObject, error) {
	r, err := s.reviewForDecision(ctx, in.ReviewID)
	if err != nil {
		return nil, err
	}
	if r.Status != market.ReviewHumanReview {
		return nil, store.ReviewNotPending(r.Status)
	}
	version, err := s.store.GetVersion(ctx, r.VersionID)
	if err != nil {
		return nil, err
	}
	expires := time.Now().Add(s.reviewLinkLifetime).UTC().Truncate(time.Second)
	files := make([]BundleFileResponse, len(version.Files))
	tickets := make([]store.FileTicket, len(version.Files))
	for i, f := range version.Files {
		ticket := bundle.NewTicket()
		tickets[i] = store.FileTicket{Hash: ticket.Hash, Path: f.Path}
		files[i] = BundleFileResponse{Path: f.Path, URL: s.publicURL + filesPath + ticket.Token, Method: "GET", Role: FileRole(f.Role),
			ContentType: f.ContentType, SizeBytes: f.SizeBytes, Sha256: f.Sha256}
	}
	if err := s.store.IssueFileTickets(ctx, version.ID, principalOf(ctx).AgentID, tickets, expires); err != nil {
		return nil, err
	}
	return GetReviewBundle200JSONResponse{ReviewID: r.ID, CourseID: r.CourseID, CourseVersionID: r.VersionID, ExpiresAt: expires, Files: files}, nil
}

// reviewForDecision returns the review to a reviewer who does not own the course.
func (s *Server) reviewForDecision(ctx context.Context, id uuid.UUID) (store.Review, error) {
	r, err := s.store.GetReview(ctx, id)
	if err == nil && r.OwnerUserID == principalOf(ctx).UserID {
		err = store.OwnCourse()
	}
	return r, err
}

// layerFindings is the part of a layer's stored result that is shown. The scanner's
// findings have the fields of the answer's.
type layerFindings struct {
	Layer    string
	Findings []ReviewFindingResponse `json:"findings"`
}

// reviewLayers reads what the layers found. A finding's id is made of its review and
// fingerprint, so it is the same in every answer.
func (s *Server) reviewLayers(ctx context.Context, r store.Review, includePass bool) ([]layerFindings, error) {
	rows, err := s.store.ListReviewLayers(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var layers []layerFindings
	for _, row := range rows {
		all := layerFindings{}
		if err := json.Unmarshal(row.Result, &all); err != nil {
			return nil, unreadable(err)
		}
		shown := layerFindings{Layer: row.Layer, Findings: []ReviewFindingResponse{}}
		for _, f := range all.Findings {
			if f.Outcome == FindingOutcomePass && !includePass {
				continue
			}
			f.ID = uuid.NewSHA1(r.ID, []byte(f.Layer+"/"+f.Fingerprint))
			shown.Findings = append(shown.Findings, f)
		}
		layers = append(layers, shown)
	}
	return layers, nil
}

// reviewCapabilities is what a review says of declared and observed capabilities.
type reviewCapabilities struct {
	status             *CapabilitiesStatus
	risk               *int
	mismatches         []CapabilityMismatch
	declared, observed *Capabilities
	patch              *DeclarationPatch
}

func capabilitiesOf(r store.Review) (reviewCapabilities, error) {
	c := reviewCapabilities{status: (*CapabilitiesStatus)(r.CapabilitiesStatus), risk: intOrNil(r.CapabilityRiskScore)}
	for _, field := range []struct {
		raw json.RawMessage
		to  any
	}{{r.CapabilityMismatches, &c.mismatches}, {r.DeclaredCapabilities, &c.declared}, {r.ObservedCapabilities, &c.observed}, {r.DeclarationPatch, &c.patch}} {
		if field.raw == nil {
			continue
		}
		if err := json.Unmarshal(field.raw, field.to); err != nil {
			return c, unreadable(err)
		}
	}
	return c, nil
}

// scanAdvice is the scanner's advice, once it has been scanned.
func scanAdvice(r store.Review) *ScanAdvice {
	if r.Verdict == nil {
		return nil
	}
	return &ScanAdvice{Verdict: ScanVerdict(*r.Verdict), RiskScore: int(*r.RiskScore), ScannerVersion: *r.ScannerVersion, RulePackVersion: *r.RulePackVersion}
}

// decision tells the owner why a version was rejected and, where capabilities are the
// reason, how to change the declaration.
func (c reviewCapabilities) decision(r store.Review) *ReviewDecision {
	if r.Status != market.ReviewRejected {
		return nil
	}
	d := &ReviewDecision{DecisionReason: *r.DecisionReason, ReviewerNotes: r.ReviewerNotes, CapabilityReasonCode: r.CapabilityReasonCode}
	if r.CapabilityReasonCode != nil {
		d.DeclarationPatch = c.patch
	}
	return d
}

func intOrNil(n *int32) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func unreadable(cause error) error {
	return &market.Error{Kind: market.KindInternal, Code: "internal_error", Detail: "A stored record cannot be read.", Cause: cause}
}
