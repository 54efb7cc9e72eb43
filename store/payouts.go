package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Payout is a payout with the names that support reads.
type Payout = db.BountyPayoutDetail

// GetPayout returns a payout, or payout_not_found.
func (s *Store) GetPayout(ctx context.Context, id uuid.UUID) (Payout, error) {
	row, err := s.q.GetPayout(ctx, id)
	return found(row, err, "payout")
}

// FindPayoutOfBounty returns the bounty's payout, or nil while it has none.
func (s *Store) FindPayoutOfBounty(ctx context.Context, bountyID uuid.UUID) (*Payout, error) {
	row, err := s.q.FindPayoutOfBounty(ctx, bountyID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no payout yet is an answer, not an error
	}
	return &row, translate(err, "")
}

// IsRecipientActive reports whether neither the payout's recipient nor its user is suspended.
func (s *Store) IsRecipientActive(ctx context.Context, payoutID uuid.UUID) (bool, error) {
	active, err := s.q.IsRecipientActive(ctx, payoutID)
	return active, translate(err, "payout")
}

// ListPayouts returns payouts, newest first; a nil status means all.
func (s *Store) ListPayouts(ctx context.Context, status *market.PayoutStatus, page Page) ([]Payout, error) {
	rows, err := s.q.ListPayouts(ctx, db.ListPayoutsParams{Status: (*string)(status),
		BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
	return rows, translate(err, "")
}

// CreatePayout begins to pay out an awarded bounty. A bounty has one payout: asked
// again, it returns the first.
func (s *Store) CreatePayout(ctx context.Context, bountyID uuid.UUID, by Actor) (Payout, error) {
	var id uuid.UUID
	err := s.inTx(ctx, func(t *tx) error {
		b, err := t.lockBounty(ctx, bountyID)
		if err != nil {
			return err
		}
		if err := b.checkCreator(by.AgentID); err != nil {
			return err
		}
		earlier, err := t.GetPayoutOfBounty(ctx, bountyID)
		if err == nil {
			id = earlier.ID
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := b.rules.CheckPayout(); err != nil {
			return err
		}
		id, err = t.insertPayout(ctx, b)
		if err != nil {
			return err
		}
		return t.audit(ctx, by, "payout.created", "bounty_payout", id, map[string]any{"bounty_id": bountyID})
	})
	if err != nil {
		return Payout{}, err
	}
	return s.GetPayout(ctx, id)
}

func (t *tx) insertPayout(ctx context.Context, b lockedBounty) (uuid.UUID, error) {
	submission, err := t.GetSubmission(ctx, db.GetSubmissionParams{ID: *b.AcceptedSubmissionID, BountyID: b.ID})
	if err != nil {
		return uuid.Nil, err
	}
	fee, net := market.Fee(b.RewardAmountCents, t.fee)
	payable := accountID(market.AccountAgentPayable, submission.SubmitterAgentID)
	id := newID()
	return id, t.InsertPayout(ctx, db.InsertPayoutParams{
		ID: id, BountyID: b.ID, SubmissionID: submission.ID, RecipientAgentID: submission.SubmitterAgentID,
		AmountCents: b.RewardAmountCents, MarketplaceFeeCents: fee, SellerNetAmountCents: net,
		IdempotencyKey: market.PayoutKey(b.ID, submission.ID), CreatorPayableBalanceID: &payable,
	})
}

// BeginSettlement submits a pending or held payout for settlement, or holds it while
// its recipient is suspended. One that is submitted, settled or failed stays as it is.
func (s *Store) BeginSettlement(ctx context.Context, id uuid.UUID) (Payout, error) {
	err := s.inTx(ctx, func(t *tx) error {
		p, err := t.LockPayout(ctx, id)
		if err != nil {
			return translate(err, "payout")
		}
		if p.Status != market.PayoutPending && p.Status != market.PayoutHeld {
			return nil
		}
		held, err := t.holdIfSuspended(ctx, p)
		if err != nil || held {
			return err
		}
		if err := t.SetPayoutSubmitted(ctx, id); err != nil {
			return err
		}
		return t.audit(ctx, Actor{}, "payout.submitted", "bounty_payout", id, nil)
	})
	if err != nil {
		return Payout{}, err
	}
	return s.GetPayout(ctx, id)
}

// holdIfSuspended holds the payout if its recipient, or the recipient's user, is suspended.
func (t *tx) holdIfSuspended(ctx context.Context, p db.BountyPayout) (bool, error) {
	recipient, err := t.LockAgentStanding(ctx, p.RecipientAgentID)
	if err != nil || recipient.Active {
		return false, err
	}
	if p.Status == market.PayoutHeld {
		return true, nil
	}
	if err := t.SetPayoutHeld(ctx, p.ID); err != nil {
		return true, err
	}
	if err := t.notify(ctx, payoutNotice(p, p.RecipientAgentID, market.NotifyPayoutHeld, "Your payout is held while you are suspended")); err != nil {
		return true, err
	}
	return true, t.audit(ctx, Actor{}, "payout.held", "bounty_payout", p.ID, nil)
}

// SettlePayout moves the money of a submitted payout, once: the reward leaves the
// escrow, the fee goes to the platform, the rest through the recipient's payable to its
// available balance, and the bounty is paid. A frozen recipient account refuses it
// (recipient_account_frozen); a recipient suspended meanwhile puts it on hold.
func (s *Store) SettlePayout(ctx context.Context, id uuid.UUID) (Payout, error) {
	unlocked, err := s.GetPayout(ctx, id)
	if err != nil {
		return Payout{}, err
	}
	err = s.inTx(ctx, func(t *tx) error {
		b, err := t.lockBounty(ctx, unlocked.BountyID)
		if err != nil {
			return err
		}
		p, err := t.LockPayout(ctx, id)
		if err != nil {
			return err
		}
		if p.Status != market.PayoutSubmitted {
			return nil
		}
		held, err := t.holdIfSuspended(ctx, p)
		if err != nil || held {
			return err
		}
		if err := t.checkNotFrozen(ctx, p.RecipientAgentID, "recipient_account_frozen"); err != nil {
			return err
		}
		return t.settle(ctx, b, p)
	})
	if err != nil {
		return Payout{}, err
	}
	return s.GetPayout(ctx, id)
}

func (t *tx) settle(ctx context.Context, b lockedBounty, p db.BountyPayout) error {
	payable := accountID(market.AccountAgentPayable, p.RecipientAgentID)
	available := accountID(market.AccountAgentAvailable, p.RecipientAgentID)
	transaction, err := t.post(ctx,
		movement{key: p.IdempotencyKey, kind: market.LedgerPayout, referenceType: "bounty_payout", referenceID: p.ID, memo: b.Title},
		posting{accountID(market.AccountBountyEscrow, b.ID), -p.AmountCents},
		posting{payable, p.SellerNetAmountCents}, posting{platformFees, p.MarketplaceFeeCents},
		posting{payable, -p.SellerNetAmountCents}, posting{available, p.SellerNetAmountCents},
	)
	if err != nil {
		return err
	}
	if err := t.SetPayoutSettled(ctx, db.SetPayoutSettledParams{ID: p.ID, LedgerTransactionID: &transaction}); err != nil {
		return err
	}
	if err := t.SetBountyPaid(ctx, db.SetBountyPaidParams{At: t.now, ID: b.ID}); err != nil {
		return err
	}
	err = t.notify(ctx,
		payoutNotice(p, p.RecipientAgentID, market.NotifyPayoutSettled, "Your payout has been settled"),
		payoutNotice(p, b.CreatorAgentID, market.NotifyPayoutSettled, "The payout of your bounty has been settled"))
	if err != nil {
		return err
	}
	return t.audit(ctx, Actor{}, "payout.settled", "bounty_payout", p.ID, map[string]any{"ledger_transaction_id": transaction})
}

// FailPayout records that a settlement was refused for good or given up. The escrow
// stays as it is; support can retry.
func (s *Store) FailPayout(ctx context.Context, id uuid.UUID, code, detail string) (Payout, error) {
	err := s.inTx(ctx, func(t *tx) error {
		p, err := t.LockPayout(ctx, id)
		if err != nil {
			return translate(err, "payout")
		}
		if p.Status.Final() || p.Status == market.PayoutFailed {
			return nil
		}
		if err := t.SetPayoutFailed(ctx, db.SetPayoutFailedParams{Code: &code, Detail: &detail, ID: id}); err != nil {
			return err
		}
		if err := t.notify(ctx, payoutNotice(p, p.RecipientAgentID, market.NotifyPayoutFailed, "Your payout has failed; support can retry it")); err != nil {
			return err
		}
		return t.audit(ctx, Actor{}, "payout.failed", "bounty_payout", id, map[string]any{"code": code})
	})
	if err != nil {
		return Payout{}, err
	}
	return s.GetPayout(ctx, id)
}

// RetryPayout submits a failed payout once more, for support. Another state is a
// conflict (payout_not_failed). A course that was blocked since does not matter: what
// was awarded and asked for before is owed.
func (s *Store) RetryPayout(ctx context.Context, id uuid.UUID, by Actor) (Payout, error) {
	err := s.inTx(ctx, func(t *tx) error {
		p, err := t.LockPayout(ctx, id)
		if err != nil {
			return translate(err, "payout")
		}
		if done, err := t.wasDone(ctx, by, "payout.retried", id); err != nil || done {
			return err
		}
		if p.Status != market.PayoutFailed {
			return PayoutNotFailed(p.Status)
		}
		if err := t.SetPayoutSubmitted(ctx, id); err != nil {
			return err
		}
		return t.audit(ctx, by, "payout.retried", "bounty_payout", id, nil)
	})
	if err != nil {
		return Payout{}, err
	}
	return s.GetPayout(ctx, id)
}

func payoutNotice(p db.BountyPayout, to uuid.UUID, kind market.NotificationType, title string) notice {
	return notice{to: to, kind: kind, title: title, subjectType: "bounty_payout", subjectID: p.ID, data: map[string]any{
		"payout_id": p.ID, "bounty_id": p.BountyID, "seller_net_amount_cents": p.SellerNetAmountCents, "currency": p.Currency}}
}

// PayoutNotFailed refuses to retry a payout that has not failed.
func PayoutNotFailed(status market.PayoutStatus) error {
	return market.Conflict("payout_not_failed", "The payout is %s; only a failed one can be retried.", status).With("status", status)
}
