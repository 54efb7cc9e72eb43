package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// CreateBountyPayout begins to pay out an awarded bounty. Asked again, it answers with
// the one payout that the bounty has.
func (s *Server) CreateBountyPayout(ctx context.Context, in CreateBountyPayoutRequestObject) (CreateBountyPayoutResponseObject, error) {
	b, err := s.ownBounty(ctx, in.BountyID)
	if err != nil {
		return nil, err
	}
	payout, err := s.store.FindPayoutOfBounty(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	if payout == nil {
		if payout, err = s.beginPayout(ctx, b); err != nil {
			return nil, err
		}
	}
	return CreateBountyPayout201JSONResponse(payoutRecord(*payout)), nil
}

func (s *Server) beginPayout(ctx context.Context, b store.Bounty) (*store.Payout, error) {
	if _, err := s.moveBounty(ctx, b.ID, workflows.UpdatePay, uuid.Nil); err != nil {
		return nil, err
	}
	payout, err := s.store.FindPayoutOfBounty(ctx, b.ID)
	if err == nil && payout == nil {
		err = market.Unavailable("payout_delayed", 2*time.Second, "The payout is being created; ask for it again in a moment.")
	}
	return payout, err
}

// ListPayouts lists payouts for support.
func (s *Server) ListPayouts(ctx context.Context, in ListPayoutsRequestObject) (ListPayoutsResponseObject, error) {
	status := (*market.PayoutStatus)(in.Params.Status)
	filter := ""
	if status != nil {
		filter = string(*status)
	}
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor, filter)
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListPayouts(ctx, status, page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(p store.Payout) store.Position { return store.Position{CreatedAt: p.CreatedAt, ID: p.ID} })
	items := make([]AdminPayout, len(rows))
	for i, row := range rows {
		items[i] = adminPayout(row)
	}
	return ListPayouts200JSONResponse{Items: items, NextCursor: next}, nil
}

// GetPayout reads a payout for support.
func (s *Server) GetPayout(ctx context.Context, in GetPayoutRequestObject) (GetPayoutResponseObject, error) {
	p, err := s.store.GetPayout(ctx, in.PayoutID)
	if err != nil {
		return nil, err
	}
	return GetPayout200JSONResponse(adminPayout(p)), nil
}

// RetryPayout has a failed payout settle once more.
func (s *Server) RetryPayout(ctx context.Context, in RetryPayoutRequestObject) (RetryPayoutResponseObject, error) {
	err := s.flows.inTurn(ctx, workflows.PayoutWorkflowID(in.PayoutID), func(ctx context.Context) error {
		p, err := s.store.GetPayout(ctx, in.PayoutID)
		if err != nil {
			return err
		}
		b, err := s.store.GetBounty(ctx, p.BountyID)
		if err != nil {
			return err
		}
		return s.flows.RetryPayout(ctx, p, b.CourseID, principalOf(ctx).AgentID)
	})
	if err != nil {
		return nil, err
	}
	p, err := s.store.GetPayout(ctx, in.PayoutID)
	if err != nil {
		return nil, err
	}
	return RetryPayout200JSONResponse(adminPayout(p)), nil
}

func payoutRecord(p store.Payout) Payout {
	return Payout{
		ID: p.ID, BountyID: p.BountyID, RecipientAgentID: p.RecipientAgentID, AmountCents: p.AmountCents,
		MarketplaceFeeCents: p.MarketplaceFeeCents, SellerNetAmountCents: p.SellerNetAmountCents, Currency: p.Currency,
		IdempotencyKey: p.IdempotencyKey, Status: PayoutStatus(p.Status), CreatorPayableBalanceID: p.CreatorPayableBalanceID,
		SubmittedAt: p.SubmittedAt, SettledAt: p.SettledAt, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

func adminPayout(p store.Payout) AdminPayout {
	return AdminPayout{
		ID: p.ID, BountyID: p.BountyID, BountyTitle: p.BountyTitle, SubmissionID: p.SubmissionID,
		RecipientAgentID: p.RecipientAgentID, RecipientAgentName: p.RecipientAgentName, AmountCents: p.AmountCents,
		MarketplaceFeeCents: p.MarketplaceFeeCents, SellerNetAmountCents: p.SellerNetAmountCents, Currency: p.Currency,
		IdempotencyKey: p.IdempotencyKey, Status: PayoutStatus(p.Status), CreatorPayableBalanceID: p.CreatorPayableBalanceID,
		SubmittedAt: p.SubmittedAt, SettledAt: p.SettledAt, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		FailureCode: p.FailureCode, FailureDetail: p.FailureDetail, Attempts: int(p.Attempts),
		WorkflowID: workflows.PayoutWorkflowID(p.ID),
	}
}
