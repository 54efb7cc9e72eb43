package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// CreateBountySubmission sends work for an open bounty.
func (s *Server) CreateBountySubmission(ctx context.Context, in CreateBountySubmissionRequestObject) (CreateBountySubmissionResponseObject, error) {
	body := in.Body
	n := store.NewSubmission{ID: creationID(ctx), BountyID: in.BountyID, Title: body.Title, Description: body.Description,
		CodehostPR: body.CodehostPR != nil && *body.CodehostPR, ProposedVersionID: body.ProposedCourseVersionID}
	if body.Evidence != nil {
		evidence, err := json.Marshal(body.Evidence)
		if err != nil {
			return nil, fmt.Errorf("encode evidence: %w", err)
		}
		n.Evidence = evidence
	}
	row, err := s.store.CreateSubmission(ctx, n, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	b, err := s.store.GetBounty(ctx, in.BountyID)
	if err != nil {
		return nil, err
	}
	record, err := submission(row)
	if err != nil {
		return nil, err
	}
	return CreateBountySubmission201JSONResponse{
		ID: record.ID, BountyID: record.BountyID, SubmitterAgentID: record.SubmitterAgentID, Title: record.Title,
		Description: record.Description, Evidence: record.Evidence, ProposedCourseVersionID: record.ProposedCourseVersionID,
		Status: record.Status, CreatedAt: record.CreatedAt, UpdatedAt: record.UpdatedAt,
		CodehostPR: s.pullRequestBlock(row, b),
	}, nil
}

// GetBountySubmission reads a submission for its submitter or the bounty's creator.
func (s *Server) GetBountySubmission(ctx context.Context, in GetBountySubmissionRequestObject) (GetBountySubmissionResponseObject, error) {
	record, err := submissionOr(s.store.GetSubmission(ctx, in.BountyID, in.SubmissionID, principalOf(ctx).AgentID))
	if err != nil {
		return nil, err
	}
	return GetBountySubmission200JSONResponse(record), nil
}

// ListBountySubmissions lists all submissions to the bounty's creator, their own to others.
func (s *Server) ListBountySubmissions(ctx context.Context, in ListBountySubmissionsRequestObject) (ListBountySubmissionsResponseObject, error) {
	agent := principalOf(ctx).AgentID
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor, in.BountyID.String(), agent.String())
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListSubmissions(ctx, in.BountyID, agent, page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(r store.SubmissionListItem) store.Position {
		return store.Position{CreatedAt: r.CreatedAt, ID: r.ID}
	})
	items := make([]SubmissionListItem, len(rows))
	for i, row := range rows {
		if items[i], err = submissionListItem(row); err != nil {
			return nil, err
		}
	}
	return ListBountySubmissions200JSONResponse{Body: items, Headers: ListBountySubmissions200ResponseHeaders{Link: list.link(next)}}, nil
}

// WithdrawBountySubmission takes a submission back, for its submitter.
func (s *Server) WithdrawBountySubmission(ctx context.Context, in WithdrawBountySubmissionRequestObject) (WithdrawBountySubmissionResponseObject, error) {
	record, err := submissionOr(s.store.WithdrawSubmission(ctx, in.BountyID, in.SubmissionID, actorOf(ctx)))
	if err != nil {
		return nil, err
	}
	return WithdrawBountySubmission200JSONResponse(record), nil
}

// RejectBountySubmission declines a submission, for the bounty's creator.
func (s *Server) RejectBountySubmission(ctx context.Context, in RejectBountySubmissionRequestObject) (RejectBountySubmissionResponseObject, error) {
	record, err := submissionOr(s.store.RejectSubmission(ctx, in.BountyID, in.SubmissionID, actorOf(ctx)))
	if err != nil {
		return nil, err
	}
	return RejectBountySubmission200JSONResponse(record), nil
}

// AcceptBountySubmission awards the bounty to a submission, for the bounty's creator.
func (s *Server) AcceptBountySubmission(ctx context.Context, in AcceptBountySubmissionRequestObject) (AcceptBountySubmissionResponseObject, error) {
	agent := principalOf(ctx).AgentID
	if _, err := s.store.GetSubmission(ctx, in.BountyID, in.SubmissionID, agent); err != nil {
		return nil, err
	}
	if _, err := s.moveBounty(ctx, in.BountyID, workflows.UpdateAccept, in.SubmissionID); err != nil {
		return nil, err
	}
	record, err := submissionOr(s.store.GetSubmission(ctx, in.BountyID, in.SubmissionID, agent))
	if err != nil {
		return nil, err
	}
	return AcceptBountySubmission200JSONResponse(record), nil
}

func submissionOr(row store.Submission, err error) (Submission, error) {
	if err != nil {
		return Submission{}, err
	}
	return submission(row)
}

func submission(r store.Submission) (Submission, error) {
	evidence, err := object(r.Evidence)
	return Submission{
		ID: r.ID, BountyID: r.BountyID, SubmitterAgentID: r.SubmitterAgentID, Title: r.Title, Description: r.Description,
		Evidence: evidence, ProposedCourseVersionID: r.ProposedCourseVersionID, Status: SubmissionStatus(r.Status),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}, err
}

func submissionListItem(r store.SubmissionListItem) (SubmissionListItem, error) {
	evidence, err := object(r.Evidence)
	return SubmissionListItem{
		ID: r.ID, BountyID: r.BountyID, SubmitterAgentID: r.SubmitterAgentID, SubmitterAgentName: r.SubmitterAgentName,
		Title: r.Title, Description: r.Description, Evidence: evidence, ProposedCourseVersionID: r.ProposedCourseVersionID,
		Status: SubmissionStatus(r.Status), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}, err
}

// pullRequestBlock tells the submitter whether a draft pull request can be opened.
func (s *Server) pullRequestBlock(r store.Submission, b store.Bounty) SubmissionCodehostPRBlock {
	block := SubmissionCodehostPRBlock{Requested: r.CodehostPr, Status: PullRequestStatusNotRequested, Repository: b.CodehostRepository}
	if r.CodehostPr && !s.pullRequestsEnabled(b) {
		block.Status = PullRequestStatusDisabled
	}
	return block
}

// object decodes a JSON object that the database has checked to be one.
func object(raw json.RawMessage) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, &market.Error{Kind: market.KindInternal, Code: "internal_error", Detail: "A stored record cannot be read.", Cause: err}
	}
	return m, nil
}
