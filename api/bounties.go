package api

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// CreateBounty makes a draft.
func (s *Server) CreateBounty(ctx context.Context, in CreateBountyRequestObject) (CreateBountyResponseObject, error) {
	body := in.Body
	b, err := s.store.CreateBounty(ctx, store.NewBounty{
		ID: creationID(ctx), CourseID: body.CourseID, Title: body.Title, Description: body.Description,
		RewardCents: body.RewardAmountCents, Currency: cmp.Or(body.Currency, market.Currency),
		AcceptsCodehostPRs: body.AcceptsCodehostPrs == nil || *body.AcceptsCodehostPrs, Deadline: body.SubmissionDeadline,
	}, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return CreateBounty201JSONResponse(s.bounty(b)), nil
}

// GetBounty reads a bounty that the caller may know of.
func (s *Server) GetBounty(ctx context.Context, in GetBountyRequestObject) (GetBountyResponseObject, error) {
	b, err := s.visibleBounty(ctx, in.BountyID)
	if err != nil {
		return nil, err
	}
	return GetBounty200JSONResponse(s.bounty(b)), nil
}

// ListBounties lists the open bounties, the caller's own, or those it submitted to.
func (s *Server) ListBounties(ctx context.Context, in ListBountiesRequestObject) (ListBountiesResponseObject, error) {
	scope := store.ScopeOpen
	if in.Params.Scope != nil {
		scope = store.BountyScope(*in.Params.Scope)
	}
	agent := principalOf(ctx).AgentID
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor, string(scope), agent.String())
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListBounties(ctx, agent, scope, page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(b store.Bounty) store.Position { return store.Position{CreatedAt: b.CreatedAt, ID: b.ID} })
	items := make([]BountyListItem, len(rows))
	for i, row := range rows {
		items[i] = s.bountyListItem(row)
	}
	return ListBounties200JSONResponse{Body: items, Headers: ListBounties200ResponseHeaders{Link: list.link(next)}}, nil
}

// UpdateBounty changes whether the bounty takes pull requests.
func (s *Server) UpdateBounty(ctx context.Context, in UpdateBountyRequestObject) (UpdateBountyResponseObject, error) {
	if err := s.store.SetBountyAcceptsPRs(ctx, in.BountyID, in.Body.AcceptsCodehostPrs, actorOf(ctx)); err != nil {
		return nil, err
	}
	b, err := s.store.GetBounty(ctx, in.BountyID)
	if err != nil {
		return nil, err
	}
	return UpdateBounty200JSONResponse(s.bounty(b)), nil
}

// FundBounty moves the reward into escrow. Funded already, it answers with the record.
func (s *Server) FundBounty(ctx context.Context, in FundBountyRequestObject) (FundBountyResponseObject, error) {
	b, err := s.moveBounty(ctx, in.BountyID, workflows.UpdateFund, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return FundBounty200JSONResponse(bountyBrief(b)), nil
}

// OpenBounty lets others submit.
func (s *Server) OpenBounty(ctx context.Context, in OpenBountyRequestObject) (OpenBountyResponseObject, error) {
	b, err := s.moveBounty(ctx, in.BountyID, workflows.UpdateOpen, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return OpenBounty200JSONResponse(bountyBrief(b)), nil
}

// CancelBounty ends a bounty and refunds it.
func (s *Server) CancelBounty(ctx context.Context, in CancelBountyRequestObject) (CancelBountyResponseObject, error) {
	b, err := s.moveBounty(ctx, in.BountyID, workflows.UpdateCancel, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return CancelBounty200JSONResponse(bountyBrief(b)), nil
}

// moveBounty has the bounty's workflow make a transition for its creator, and returns
// the record as the database then holds it. What the bounty's state refuses or has
// already is not sent: that needs no workflow.
func (s *Server) moveBounty(ctx context.Context, id uuid.UUID, update string, submissionID uuid.UUID) (store.Bounty, error) {
	if _, err := s.ownBounty(ctx, id); err != nil {
		return store.Bounty{}, err
	}
	command := workflows.BountyCommand{ActorAgentID: principalOf(ctx).AgentID, SubmissionID: submissionID}
	err := s.flows.inTurn(ctx, workflows.BountyWorkflowID(id), func(ctx context.Context) error {
		b, err := s.store.GetBounty(ctx, id)
		switch {
		case err != nil:
			return err
		case update == workflows.UpdatePay && b.Status == market.BountyPaid:
			return nil
		case b.Status.Final():
			return market.Refused("bounty_state_invalid", "The bounty is %s and can no longer change.", b.Status).With("status", b.Status)
		case update == workflows.UpdateFund && b.FundingStatus == market.FundingFunded:
			return nil
		}
		return s.flows.Bounty(ctx, b, update, command)
	})
	if err != nil {
		return store.Bounty{}, err
	}
	return s.store.GetBounty(ctx, id)
}

// visibleBounty returns the bounty if the caller may know of it.
func (s *Server) visibleBounty(ctx context.Context, id uuid.UUID) (store.Bounty, error) {
	b, err := s.store.GetBounty(ctx, id)
	if err != nil {
		return b, err
	}
	if !store.BountyVisible(b.CreatorAgentID, b.OpenedAt, principalOf(ctx).AgentID) {
		return b, market.NotFound("bounty")
	}
	return b, nil
}

// ownBounty returns the bounty if the caller created it.
func (s *Server) ownBounty(ctx context.Context, id uuid.UUID) (store.Bounty, error) {
	b, err := s.visibleBounty(ctx, id)
	if err == nil && b.CreatorAgentID != principalOf(ctx).AgentID {
		err = store.NotBountyCreator()
	}
	return b, err
}

func (s *Server) bounty(b store.Bounty) Bounty {
	funding := FundingStatus(b.FundingStatus)
	return Bounty{
		ID: b.ID, CourseID: b.CourseID, CreatorAgentID: b.CreatorAgentID, Title: b.Title, Description: b.Description,
		RewardAmountCents: b.RewardAmountCents, Currency: b.Currency, Status: BountyStatus(b.Status),
		FundingMode: FundingMode(b.FundingMode), FundingStatus: &funding, FundingID: b.FundingID, FundedAt: b.FundedAt,
		AcceptedSubmissionID: b.AcceptedSubmissionID, SubmissionDeadline: b.SubmissionDeadline,
		CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt,
		AcceptsCodehostPrs: b.AcceptsCodehostPrs, CodehostPREnabled: s.pullRequestsEnabled(b),
	}
}

func bountyBrief(b store.Bounty) BountyBrief {
	funding := FundingStatus(b.FundingStatus)
	return BountyBrief{
		ID: b.ID, CourseID: b.CourseID, CreatorAgentID: b.CreatorAgentID, Title: b.Title, Description: b.Description,
		RewardAmountCents: b.RewardAmountCents, Currency: b.Currency, Status: BountyStatus(b.Status),
		FundingMode: FundingMode(b.FundingMode), FundingStatus: &funding, FundingID: b.FundingID, FundedAt: b.FundedAt,
		AcceptedSubmissionID: b.AcceptedSubmissionID, SubmissionDeadline: b.SubmissionDeadline,
		CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt,
	}
}

func (s *Server) bountyListItem(b store.Bounty) BountyListItem {
	funding := FundingStatus(b.FundingStatus)
	return BountyListItem{
		ID: b.ID, CourseID: b.CourseID, CreatorAgentID: b.CreatorAgentID, Title: b.Title, Description: b.Description,
		RewardAmountCents: b.RewardAmountCents, Currency: b.Currency, Status: BountyStatus(b.Status),
		FundingMode: FundingMode(b.FundingMode), FundingStatus: &funding, FundingID: b.FundingID, FundedAt: b.FundedAt,
		AcceptedSubmissionID: b.AcceptedSubmissionID, SubmissionDeadline: b.SubmissionDeadline,
		CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt,
		AcceptsCodehostPrs: b.AcceptsCodehostPrs, CodehostPREnabled: s.pullRequestsEnabled(b),
		CourseTitle: b.CourseTitle, SubmissionCount: int(b.SubmissionCount),
	}
}

// pullRequestsEnabled reports whether a draft pull request could be opened at all.
func (s *Server) pullRequestsEnabled(b store.Bounty) bool {
	return b.AcceptsCodehostPrs && b.CodehostRepository != nil && s.codehostConfigured
}
