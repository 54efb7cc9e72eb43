package api

import (
	"cmp"
	"context"
	"strings"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// GrantCredits answers grant_credits.
func (s *Server) GrantCredits(ctx context.Context, in GrantCreditsRequestObject) (GrantCreditsResponseObject, error) {
	reason := strings.TrimSpace(in.Body.Reason)
	if reason == "" {
		return nil, market.Invalid("string_too_short", "must not be blank", "body", "reason")
	}
	grant := store.Grant{
		ID: creationID(ctx), AgentID: in.Body.AgentID, AmountCents: in.Body.AmountCents,
		Currency: cmp.Or(in.Body.Currency, market.Currency), Reason: reason,
	}
	// The grant's id makes it happen once; the audit trail tells of every request for it.
	made, err := s.store.GrantCredits(ctx, grant, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return GrantCredits201JSONResponse{
		TransactionID: made.TransactionID, AgentID: grant.AgentID, AmountCents: grant.AmountCents, Currency: grant.Currency,
		Reason: reason, AvailableCents: made.AvailableCents, CreatedAt: made.CreatedAt,
	}, nil
}

// FreezeAccount answers freeze_account: the agent's credit can neither be spent nor
// paid into until it is unfrozen.
func (s *Server) FreezeAccount(ctx context.Context, in FreezeAccountRequestObject) (FreezeAccountResponseObject, error) {
	record, err := s.setFrozen(ctx, in.AgentID, true)
	return FreezeAccount200JSONResponse(record), err
}

// UnfreezeAccount answers unfreeze_account.
func (s *Server) UnfreezeAccount(ctx context.Context, in UnfreezeAccountRequestObject) (UnfreezeAccountResponseObject, error) {
	record, err := s.setFrozen(ctx, in.AgentID, false)
	return UnfreezeAccount200JSONResponse(record), err
}

func (s *Server) setFrozen(ctx context.Context, agentID AgentID, frozen bool) (CreditFreeze, error) {
	at, err := s.store.SetAccountFrozen(ctx, agentID, frozen, actorOf(ctx))
	return CreditFreeze{AgentID: agentID, Frozen: at != nil, FrozenAt: at}, err
}
