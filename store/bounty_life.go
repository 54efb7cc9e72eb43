package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// The transitions of a bounty from funding to its end. Each is called by the bounty's
// workflow; each recognises a repetition of itself by the actor's request key.

// errUnchanged says that the bounty is where it was to be brought already.
var errUnchanged = errors.New("unchanged")

// transition runs change on the locked bounty, once per request key, and records it.
func (s *Store) transition(ctx context.Context, id uuid.UUID, by Actor, action string, change func(t *tx, b lockedBounty) error) (Bounty, error) {
	err := s.inTx(ctx, func(t *tx) error {
		b, err := t.lockBounty(ctx, id)
		if err != nil {
			return err
		}
		if by.AgentID != uuid.Nil {
			if err := b.checkCreator(by.AgentID); err != nil {
				return err
			}
		}
		if done, err := t.wasDone(ctx, by, action, id); err != nil || done {
			return err
		}
		err = change(t, b)
		if errors.Is(err, errUnchanged) {
			return nil
		}
		if err != nil {
			return err
		}
		return t.audit(ctx, by, action, "bounty", id, nil)
	})
	if err != nil {
		return Bounty{}, err
	}
	return s.GetBounty(ctx, id)
}

// FundBounty moves the reward from the creator's credit into the bounty's escrow.
// A bounty that is funded already stays as it is.
func (s *Store) FundBounty(ctx context.Context, id uuid.UUID, by Actor) (Bounty, error) {
	return s.transition(ctx, id, by, "bounty.funded", func(t *tx, b lockedBounty) error {
		if b.FundingStatus == market.FundingFunded {
			return errUnchanged
		}
		if err := b.rules.CheckFund(t.now); err != nil {
			return err
		}
		if err := t.checkNotFrozen(ctx, b.CreatorAgentID, "account_frozen"); err != nil {
			return err
		}
		funding, err := t.post(ctx,
			movement{key: "bounty:" + id.String() + ":fund", kind: market.LedgerEscrowFunded, referenceType: "bounty", referenceID: id, memo: b.Title},
			transfer(accountID(market.AccountAgentAvailable, b.CreatorAgentID), accountID(market.AccountBountyEscrow, id), b.RewardAmountCents)...)
		if err != nil {
			return err
		}
		if err := t.SetBountyFunded(ctx, db.SetBountyFundedParams{FundingID: &funding, At: &t.now, ID: id}); err != nil {
			return err
		}
		return t.notify(ctx, bountyNotice(b, b.CreatorAgentID, market.NotifyBountyFunded, "Your bounty is funded"))
	})
}

// OpenBounty lets others submit to a funded draft.
func (s *Store) OpenBounty(ctx context.Context, id uuid.UUID, by Actor) (Bounty, error) {
	return s.transition(ctx, id, by, "bounty.opened", func(t *tx, b lockedBounty) error {
		if err := b.rules.CheckOpen(t.now); err != nil {
			return err
		}
		return t.SetBountyOpen(ctx, db.SetBountyOpenParams{At: &t.now, ID: id})
	})
}

// CancelBounty ends a bounty before anything was accepted and refunds its escrow.
func (s *Store) CancelBounty(ctx context.Context, id uuid.UUID, by Actor) (Bounty, error) {
	return s.transition(ctx, id, by, "bounty.cancelled", func(t *tx, b lockedBounty) error {
		if err := b.rules.CheckCancel(); err != nil {
			return err
		}
		return t.endBounty(ctx, b, market.BountyCancelled, market.NotifyBountyCancelled, "A bounty was cancelled")
	})
}

// ExpireBounty ends a bounty whose deadline and grace have passed with nothing accepted.
func (s *Store) ExpireBounty(ctx context.Context, id uuid.UUID, grace time.Duration, by Actor) (Bounty, error) {
	return s.transition(ctx, id, by, "bounty.expired", func(t *tx, b lockedBounty) error {
		if err := b.rules.CheckExpire(t.now, grace); err != nil {
			return err
		}
		return t.endBounty(ctx, b, market.BountyExpired, market.NotifyBountyExpired, "A bounty has expired")
	})
}

// endBounty refunds, closes the live submissions and tells everybody concerned.
func (t *tx) endBounty(ctx context.Context, b lockedBounty, status market.BountyStatus, kind market.NotificationType, title string) error {
	if b.FundingStatus == market.FundingFunded {
		_, err := t.post(ctx,
			movement{key: "bounty:" + b.ID.String() + ":refund", kind: market.LedgerEscrowRefunded, referenceType: "bounty", referenceID: b.ID, memo: b.Title},
			transfer(accountID(market.AccountBountyEscrow, b.ID), accountID(market.AccountAgentAvailable, b.CreatorAgentID), b.RewardAmountCents)...)
		if err != nil {
			return err
		}
	}
	if err := t.SetBountyEnded(ctx, db.SetBountyEndedParams{Status: status, At: t.now, ID: b.ID}); err != nil {
		return err
	}
	closed, err := t.CloseLiveSubmissions(ctx, db.CloseLiveSubmissionsParams{At: t.now, BountyID: b.ID})
	if err != nil {
		return err
	}
	notices := []notice{bountyNotice(b, b.CreatorAgentID, kind, title)}
	for _, c := range closed {
		notices = append(notices, bountyNotice(b, c.SubmitterAgentID, kind, title))
	}
	return t.notify(ctx, notices...)
}

// AcceptSubmission awards the bounty to one submission and closes the others.
func (s *Store) AcceptSubmission(ctx context.Context, bountyID, submissionID uuid.UUID, by Actor) (Bounty, error) {
	return s.transition(ctx, bountyID, by, "bounty.awarded", func(t *tx, b lockedBounty) error {
		submission, err := t.LockSubmission(ctx, db.LockSubmissionParams{ID: submissionID, BountyID: bountyID})
		if err != nil {
			return translate(err, "submission")
		}
		if err := b.rules.CheckAccept(submission.Status); err != nil {
			return err
		}
		if _, err := t.SetSubmissionStatus(ctx, db.SetSubmissionStatusParams{Status: market.SubmissionAccepted, At: t.now, ID: submissionID}); err != nil {
			return err
		}
		if err := t.SetBountyAwarded(ctx, db.SetBountyAwardedParams{SubmissionID: &submissionID, At: t.now, ID: bountyID}); err != nil {
			return err
		}
		others, err := t.CloseLiveSubmissions(ctx, db.CloseLiveSubmissionsParams{At: t.now, BountyID: bountyID})
		if err != nil {
			return err
		}
		notices := []notice{submissionNotice(b, submission.SubmitterAgentID, submissionID, market.NotifySubmissionAccepted, "Your submission was accepted")}
		for _, o := range others {
			notices = append(notices, submissionNotice(b, o.SubmitterAgentID, o.ID, market.NotifySubmissionNotSelected, "Another submission was selected"))
		}
		return t.notify(ctx, notices...)
	})
}

func bountyNotice(b lockedBounty, to uuid.UUID, kind market.NotificationType, title string) notice {
	return notice{to: to, kind: kind, title: title, body: b.Title, subjectType: "bounty", subjectID: b.ID,
		data: map[string]any{"bounty_id": b.ID, "reward_amount_cents": b.RewardAmountCents, "currency": b.Currency}}
}

func submissionNotice(b lockedBounty, to, submissionID uuid.UUID, kind market.NotificationType, title string) notice {
	return notice{to: to, kind: kind, title: title, body: b.Title, subjectType: "bounty_submission", subjectID: submissionID,
		data: map[string]any{"bounty_id": b.ID, "submission_id": submissionID}}
}
