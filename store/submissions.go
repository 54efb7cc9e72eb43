package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Submission is an answer to a bounty.
type Submission = db.BountySubmission

// SubmissionListItem is a submission with its submitter's name.
type SubmissionListItem = db.BountySubmissionDetail

// NewSubmission is what a submitter sends.
type NewSubmission struct {
	// ID is chosen beforehand where a retry must find the first; else zero.
	ID                uuid.UUID
	BountyID          uuid.UUID
	Title             string
	Description       string
	Evidence          json.RawMessage
	CodehostPR        bool
	ProposedVersionID *uuid.UUID
}

// CreateSubmission sends a submission to an open bounty of another user.
func (s *Store) CreateSubmission(ctx context.Context, n NewSubmission, by Actor) (Submission, error) {
	n.ID = idOr(n.ID)
	if n.Evidence == nil {
		n.Evidence = json.RawMessage(`{}`)
	}
	var submission Submission
	err := s.inTx(ctx, func(t *tx) error {
		b, err := t.lockBounty(ctx, n.BountyID)
		if err != nil {
			return err
		}
		if !b.visibleTo(by.AgentID) {
			return market.NotFound("bounty")
		}
		if earlier, err := t.GetSubmission(ctx, db.GetSubmissionParams{ID: n.ID, BountyID: n.BountyID}); err == nil {
			submission = earlier
			return nil
		}
		if err := b.rules.CheckSubmit(t.now); err != nil {
			return err
		}
		if err := t.checkSubmitter(ctx, b, n, by); err != nil {
			return err
		}
		if _, err := t.InsertSubmission(ctx, db.InsertSubmissionParams{ID: n.ID, BountyID: n.BountyID, SubmitterAgentID: by.AgentID,
			Title: n.Title, Description: n.Description, Evidence: n.Evidence, CodehostPr: n.CodehostPR, ProposedCourseVersionID: n.ProposedVersionID}); err != nil {
			return err
		}
		if submission, err = t.GetSubmission(ctx, db.GetSubmissionParams{ID: n.ID, BountyID: n.BountyID}); err != nil {
			return err
		}
		if err := t.notify(ctx, submissionNotice(b, b.CreatorAgentID, n.ID, market.NotifySubmissionReceived, "Your bounty received a submission")); err != nil {
			return err
		}
		return t.audit(ctx, by, "submission.created", "bounty_submission", n.ID, nil)
	})
	return submission, err
}

// checkSubmitter refuses the creator's own user, and a proposed version that is not of
// the bounty's course or that the submitter may not see.
func (t *tx) checkSubmitter(ctx context.Context, b lockedBounty, n NewSubmission, by Actor) error {
	creator, err := t.GetAgent(ctx, b.CreatorAgentID)
	if err != nil {
		return err
	}
	submitter, err := t.GetAgent(ctx, by.AgentID)
	if err != nil {
		return err
	}
	if creator.UserID == submitter.UserID {
		return market.Refused("own_bounty", "Agents of the user who created a bounty cannot submit to it.")
	}
	if n.ProposedVersionID == nil {
		return nil
	}
	refusal := market.Refused("proposed_version_invalid", "The proposed course version must belong to the bounty's course and be visible to you.")
	version, err := t.GetCourseVersion(ctx, *n.ProposedVersionID)
	if err != nil {
		if e, ok := market.AsError(translate(err, "version")); ok && e.Kind == market.KindNotFound {
			return refusal
		}
		return err
	}
	course, err := t.GetCourse(ctx, version.CourseID)
	if err != nil {
		return err
	}
	published := version.Status == market.VersionPublished && course.Visibility != market.VisibilityPrivate
	if version.CourseID != b.CourseID || (course.OwnerAgentID != by.AgentID && !published) {
		return refusal
	}
	return nil
}

// GetSubmission returns a submission of a bounty to the bounty's creator or to its
// submitter; to others it does not exist.
func (s *Store) GetSubmission(ctx context.Context, bountyID, id, viewer uuid.UUID) (Submission, error) {
	bounty, err := s.GetBounty(ctx, bountyID)
	if err != nil {
		return Submission{}, err
	}
	if !BountyVisible(bounty.CreatorAgentID, bounty.OpenedAt, viewer) {
		return Submission{}, market.NotFound("bounty")
	}
	submission, err := s.q.GetSubmission(ctx, db.GetSubmissionParams{ID: id, BountyID: bountyID})
	if err != nil {
		return Submission{}, translate(err, "submission")
	}
	if bounty.CreatorAgentID != viewer && submission.SubmitterAgentID != viewer {
		return Submission{}, market.NotFound("submission")
	}
	return submission, nil
}

// ListSubmissions returns a bounty's submissions, newest first: all of them to its
// creator, their own to others.
func (s *Store) ListSubmissions(ctx context.Context, bountyID, viewer uuid.UUID, page Page) ([]SubmissionListItem, error) {
	bounty, err := s.GetBounty(ctx, bountyID)
	if err != nil {
		return nil, err
	}
	if !BountyVisible(bounty.CreatorAgentID, bounty.OpenedAt, viewer) {
		return nil, market.NotFound("bounty")
	}
	if bounty.CreatorAgentID == viewer {
		items, err := s.q.ListSubmissionsOfBounty(ctx, db.ListSubmissionsOfBountyParams{BountyID: bountyID,
			BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
		return items, translate(err, "")
	}
	items, err := s.q.ListSubmissionsOfAgent(ctx, db.ListSubmissionsOfAgentParams{BountyID: bountyID, AgentID: viewer,
		BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
	return items, translate(err, "")
}

// WithdrawSubmission takes back a live submission. Only its submitter may.
func (s *Store) WithdrawSubmission(ctx context.Context, bountyID, id uuid.UUID, by Actor) (Submission, error) {
	return s.decide(ctx, bountyID, id, by, submissionChange{
		status: market.SubmissionWithdrawn, action: "submission.withdrawn", kind: market.NotifySubmissionWithdrawn,
		title:     "A submission was withdrawn",
		allowed:   func(_ lockedBounty, s Submission) bool { return s.SubmitterAgentID == by.AgentID },
		recipient: func(b lockedBounty, _ Submission) uuid.UUID { return b.CreatorAgentID },
		forbidden: market.Forbidden("not_submitter", "Only the agent that sent the submission may withdraw it."),
	})
}

// RejectSubmission declines a live submission. Only the bounty's creator may.
func (s *Store) RejectSubmission(ctx context.Context, bountyID, id uuid.UUID, by Actor) (Submission, error) {
	return s.decide(ctx, bountyID, id, by, submissionChange{
		status: market.SubmissionRejected, action: "submission.rejected", kind: market.NotifySubmissionRejected,
		title:     "Your submission was rejected",
		allowed:   func(b lockedBounty, _ Submission) bool { return b.CreatorAgentID == by.AgentID },
		recipient: func(_ lockedBounty, s Submission) uuid.UUID { return s.SubmitterAgentID },
		forbidden: NotBountyCreator(),
	})
}

// submissionChange describes a decision on one submission that moves no money.
type submissionChange struct {
	status    market.SubmissionStatus
	action    string
	kind      market.NotificationType
	title     string
	allowed   func(lockedBounty, Submission) bool
	recipient func(lockedBounty, Submission) uuid.UUID
	forbidden error
}

func (s *Store) decide(ctx context.Context, bountyID, id uuid.UUID, by Actor, c submissionChange) (Submission, error) {
	var submission Submission
	err := s.inTx(ctx, func(t *tx) error {
		// The bounty first, as in every transaction that touches both.
		b, err := t.lockBounty(ctx, bountyID)
		if err != nil {
			return err
		}
		if !b.visibleTo(by.AgentID) {
			return market.NotFound("bounty")
		}
		submission, err = t.LockSubmission(ctx, db.LockSubmissionParams{ID: id, BountyID: bountyID})
		if err != nil {
			return translate(err, "submission")
		}
		if !c.allowed(b, submission) {
			if b.CreatorAgentID != by.AgentID && submission.SubmitterAgentID != by.AgentID {
				return market.NotFound("submission")
			}
			return c.forbidden
		}
		if err := market.CheckSubmissionLive(submission.Status); err != nil {
			return err
		}
		if submission, err = t.SetSubmissionStatus(ctx, db.SetSubmissionStatusParams{Status: c.status, At: t.now, ID: id}); err != nil {
			return err
		}
		if err := t.notify(ctx, submissionNotice(b, c.recipient(b, submission), id, c.kind, c.title)); err != nil {
			return err
		}
		return t.audit(ctx, by, c.action, "bounty_submission", id, nil)
	})
	return submission, err
}
