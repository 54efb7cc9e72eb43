package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Bounty is a bounty as it is read, with what readers need of its course.
type Bounty = db.BountyDetail

// BountyVisible reports whether the viewer may know of a bounty: its creator always,
// everybody else once it has been opened.
func BountyVisible(creator uuid.UUID, openedAt *time.Time, viewer uuid.UUID) bool {
	return creator == viewer || openedAt != nil
}

// GetBounty returns a bounty, or bounty_not_found.
func (s *Store) GetBounty(ctx context.Context, id uuid.UUID) (Bounty, error) {
	row, err := s.q.GetBounty(ctx, id)
	return found(row, err, "bounty")
}

// BountyScope says which bounties a list shows.
type BountyScope string

// The scopes of list_bounties.
const (
	ScopeOpen      BountyScope = "open"
	ScopeMine      BountyScope = "mine"
	ScopeSubmitted BountyScope = "submitted"
)

// ListBounties returns the bounties of a scope for the agent, newest first.
func (s *Store) ListBounties(ctx context.Context, agentID uuid.UUID, scope BountyScope, page Page) ([]Bounty, error) {
	var bounties []Bounty
	var err error
	switch scope {
	case ScopeMine:
		bounties, err = s.q.ListBountiesOfCreator(ctx, db.ListBountiesOfCreatorParams{AgentID: agentID,
			BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
	case ScopeSubmitted:
		bounties, err = s.q.ListBountiesOfSubmitter(ctx, db.ListBountiesOfSubmitterParams{AgentID: agentID,
			BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
	default:
		bounties, err = s.q.ListOpenBounties(ctx, db.ListOpenBountiesParams{
			BeforeAt: page.before(), BeforeID: page.beforeID(), PageSize: page.size()})
	}
	return bounties, translate(err, "")
}

// NewBounty is what a creator asks for.
type NewBounty struct {
	// ID is chosen beforehand where a retry must find the first; else zero.
	ID                 uuid.UUID
	CourseID           uuid.UUID
	Title              string
	Description        string
	RewardCents        int64
	Currency           string
	AcceptsCodehostPRs bool
	Deadline           *time.Time
}

func (n NewBounty) check(now time.Time) error {
	if err := market.CheckCurrency(n.Currency); err != nil {
		return err
	}
	if n.RewardCents < market.MinRewardCents || n.RewardCents > market.MaxAmountCents {
		return market.Refused("reward_out_of_range", "The reward must be between %d and %d cents.", market.MinRewardCents, market.MaxAmountCents)
	}
	if n.Deadline != nil && !n.Deadline.After(now) {
		return market.Refused("submission_deadline_passed", "The submission deadline must lie in the future.")
	}
	return nil
}

// CreateBounty makes a draft bounty on a course that the creator may see.
func (s *Store) CreateBounty(ctx context.Context, n NewBounty, by Actor) (Bounty, error) {
	n.ID = idOr(n.ID)
	err := s.inTx(ctx, func(t *tx) error {
		if err := n.check(t.now); err != nil {
			return err
		}
		if err := t.checkBountyCourse(ctx, n.CourseID, by.AgentID); err != nil {
			return err
		}
		inserted, err := t.InsertBounty(ctx, db.InsertBountyParams{
			ID: n.ID, CourseID: n.CourseID, CreatorAgentID: by.AgentID, Title: n.Title, Description: n.Description,
			RewardAmountCents: n.RewardCents, AcceptsCodehostPrs: n.AcceptsCodehostPRs, SubmissionDeadline: n.Deadline,
		})
		if err != nil || inserted == 0 {
			return err
		}
		if err := t.openAccount(ctx, market.AccountBountyEscrow, n.ID); err != nil {
			return err
		}
		return t.audit(ctx, by, "bounty.created", "bounty", n.ID, nil)
	})
	if err != nil {
		return Bounty{}, err
	}
	return s.GetBounty(ctx, n.ID)
}

func (t *tx) checkBountyCourse(ctx context.Context, courseID, agentID uuid.UUID) error {
	course, err := t.GetCourse(ctx, courseID)
	if err != nil {
		return translate(err, "course")
	}
	if course.Status == market.CourseBlocked {
		return market.Refused("course_blocked", "The course is blocked; bounties on it are not possible until a moderator unblocks it.")
	}
	seen := course.Status == market.CoursePublished && course.Visibility != market.VisibilityPrivate
	if !seen && course.OwnerAgentID != agentID {
		return market.NotFound("course")
	}
	return nil
}

// SetBountyAcceptsPRs changes the one setting of a bounty that its creator may change.
func (s *Store) SetBountyAcceptsPRs(ctx context.Context, id uuid.UUID, accepts bool, by Actor) error {
	return s.inTx(ctx, func(t *tx) error {
		bounty, err := t.lockBounty(ctx, id)
		if err != nil {
			return err
		}
		if err := bounty.checkCreator(by.AgentID); err != nil {
			return err
		}
		if bounty.Status.Final() {
			return market.Refused("bounty_state_invalid", "Cannot update a bounty that is %s.", bounty.Status).With("status", bounty.Status)
		}
		if bounty.AcceptsCodehostPrs == accepts {
			return nil
		}
		if err := t.Queries.SetBountyAcceptsPRs(ctx, db.SetBountyAcceptsPRsParams{Accepts: accepts, ID: id}); err != nil {
			return err
		}
		return t.audit(ctx, by, "bounty.updated", "bounty", id, map[string]any{"accepts_codehost_prs": accepts})
	})
}

// lockedBounty is a bounty whose row this transaction holds.
type lockedBounty struct {
	db.Bounty
	rules market.BountyState
}

func (b lockedBounty) visibleTo(agentID uuid.UUID) bool {
	return BountyVisible(b.CreatorAgentID, b.OpenedAt, agentID)
}

func (t *tx) lockBounty(ctx context.Context, id uuid.UUID) (lockedBounty, error) {
	row, err := t.LockBounty(ctx, id)
	if err != nil {
		return lockedBounty{}, translate(err, "bounty")
	}
	b := row.Bounty
	return lockedBounty{b, market.BountyState{Status: b.Status, Funding: b.FundingStatus, Deadline: b.SubmissionDeadline, CourseState: row.CourseStatus}}, nil
}

// checkCreator refuses every agent but the bounty's creator: not found if it may not
// know of the bounty, forbidden otherwise.
func (b lockedBounty) checkCreator(agentID uuid.UUID) error {
	switch {
	case b.CreatorAgentID == agentID:
		return nil
	case b.visibleTo(agentID):
		return NotBountyCreator()
	default:
		return market.NotFound("bounty")
	}
}

// NotBountyCreator refuses an agent that sees a bounty but did not create it.
func NotBountyCreator() error {
	return market.Forbidden("not_bounty_creator", "Only the agent that created the bounty may do this.")
}
