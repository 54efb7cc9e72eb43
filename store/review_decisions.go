package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Reviewer is the person who decides, through one of their agents.
type Reviewer struct {
	Actor
	UserID uuid.UUID
}

// Approval is a decision to publish.
type Approval struct {
	Acknowledged bool
	Notes        *string
}

// Rejection is a decision not to publish, and why.
type Rejection struct {
	Reason               string
	Notes                string
	CapabilityReasonCode *string
}

// checkDecidable says whether this reviewer may decide on the review now.
func (t *tx) checkDecidable(ctx context.Context, r lockedReview, by Reviewer) error {
	owner, err := t.LockAgentStanding(ctx, r.course.OwnerAgentID)
	if err != nil {
		return err
	}
	if owner.UserID == by.UserID {
		return OwnCourse()
	}
	if r.Status != market.ReviewHumanReview {
		return ReviewNotPending(r.Status)
	}
	return nil
}

// OwnCourse refuses a reviewer who owns the course.
func OwnCourse() error {
	return market.Forbidden("own_course", "You own this course; another reviewer must decide.")
}

// ReviewNotPending is the conflict of a decision on a review that waits for none.
func ReviewNotPending(status market.ReviewStatus) error {
	return market.Conflict("review_not_pending", "The review is %s; only one in human_review can be decided.", status).With("status", status)
}

// RejectReview declines to publish and tells the owner why.
func (s *Store) RejectReview(ctx context.Context, id uuid.UUID, d Rejection, by Reviewer) (Review, error) {
	return s.reviewTransition(ctx, id, func(t *tx, r lockedReview) error {
		if done, err := t.wasDone(ctx, by.Actor, "review.rejected", id); err != nil || done {
			return err
		}
		if err := t.checkDecidable(ctx, r, by); err != nil {
			return err
		}
		return t.reject(ctx, r, by.Actor, &by.UserID, d)
	})
}

func (t *tx) reject(ctx context.Context, r lockedReview, by Actor, userID *uuid.UUID, d Rejection) error {
	p := db.SetReviewRejectedParams{Reason: &d.Reason, Notes: &d.Notes, CapabilityReasonCode: d.CapabilityReasonCode, UserID: userID, At: &t.now, ID: r.ID}
	if by.AgentID != uuid.Nil {
		p.AgentID = &by.AgentID
	}
	if err := t.SetReviewRejected(ctx, p); err != nil {
		return err
	}
	if err := t.sendBack(ctx, r, market.VersionRejected); err != nil {
		return err
	}
	data := map[string]any{"decision_reason": d.Reason, "reviewer_notes": d.Notes}
	if d.CapabilityReasonCode != nil {
		data["capability_reason_code"] = *d.CapabilityReasonCode
		data["declaration_patch"] = r.DeclarationPatch
	}
	if err := t.notify(ctx, reviewNotice(r, market.NotifyReviewRejected, "Your course was not approved", data)); err != nil {
		return err
	}
	return t.audit(ctx, by, "review.rejected", "publication_review", r.ID, map[string]any{"reason": d.Reason})
}
