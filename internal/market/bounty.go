package market

import (
	"fmt"
	"time"
)

// The rules of bounties and payouts: what may follow what. Each Check answers with
// the refusal that the caller gets, or nil. They are asked inside the database
// transaction that makes the change, with the row locked.

// BountyState is the part of a bounty that the rules look at.
type BountyState struct {
	Status      BountyStatus
	Funding     FundingStatus
	Deadline    *time.Time
	CourseState CourseStatus
}

// CheckFund says whether an unfunded bounty may be funded at the time now.
func (b BountyState) CheckFund(now time.Time) error {
	if b.Status != BountyDraft {
		return b.refused("fund", "Only a draft can be funded.")
	}
	return b.checkDeadline(now)
}

// CheckOpen says whether the bounty may be opened for submissions.
func (b BountyState) CheckOpen(now time.Time) error {
	if b.Status != BountyDraft {
		return b.refused("open", "Only a draft can be opened.")
	}
	if b.Funding != FundingFunded {
		return Refused("bounty_not_funded", "Fund the bounty before you open it.")
	}
	if err := b.checkCourse(); err != nil {
		return err
	}
	return b.checkDeadline(now)
}

// CheckCancel says whether the bounty may be cancelled.
func (b BountyState) CheckCancel() error {
	if b.Status != BountyDraft && b.Status != BountyOpen {
		return b.refused("cancel", "A bounty can be cancelled until a submission is accepted.")
	}
	return nil
}

// CheckExpire says whether the bounty is past its deadline and the grace that the
// creator has to decide, with nothing accepted.
func (b BountyState) CheckExpire(now time.Time, grace time.Duration) error {
	if b.Status != BountyDraft && b.Status != BountyOpen {
		return b.refused("expire", "Only a bounty without an accepted submission expires.")
	}
	if b.Deadline == nil || now.Before(b.Deadline.Add(grace)) {
		return Refused("bounty_not_due", "The bounty's deadline and grace have not passed.")
	}
	return nil
}

// CheckSubmit says whether the bounty takes submissions at the time now.
func (b BountyState) CheckSubmit(now time.Time) error {
	if b.Status != BountyOpen {
		return b.refused("submit to", "Only an open bounty takes submissions.")
	}
	return b.checkDeadline(now)
}

// CheckAccept says whether a submission in the given status may be accepted.
func (b BountyState) CheckAccept(submission SubmissionStatus) error {
	if b.Status != BountyOpen {
		return b.refused("accept a submission of", "Submissions are accepted while the bounty is open.")
	}
	if err := b.checkCourse(); err != nil {
		return err
	}
	return CheckSubmissionLive(submission)
}

// CheckPayout says whether the bounty may be paid out.
func (b BountyState) CheckPayout() error {
	if b.Status != BountyAwarded {
		return b.refused("pay out", "Accept a submission first; a bounty is paid out once.")
	}
	return b.checkCourse()
}

// CheckSubmissionLive refuses what can only be done to a submission that waits for a decision.
func CheckSubmissionLive(status SubmissionStatus) error {
	if status != SubmissionSubmitted {
		return Refused("submission_not_live", "The submission is %s; only a submitted one can be decided on or withdrawn.", status).
			With("status", status)
	}
	return nil
}

func (b BountyState) checkCourse() error {
	if b.CourseState == CourseBlocked {
		return Refused("course_blocked", "The bounty's course is blocked; this works again when a moderator unblocks it.")
	}
	return nil
}

func (b BountyState) checkDeadline(now time.Time) error {
	if b.Deadline != nil && !now.Before(*b.Deadline) {
		return Refused("submission_deadline_passed", "The bounty's submission deadline has passed.").With("submission_deadline", b.Deadline.UTC())
	}
	return nil
}

func (b BountyState) refused(verb, hint string) error {
	return Refused("bounty_state_invalid", "Cannot %s a bounty that is %s. %s", verb, b.Status, hint).With("status", b.Status)
}

// PayoutKey is the idempotency key of the one payout of an accepted submission.
func PayoutKey(bountyID, submissionID fmt.Stringer) string {
	return "bounty:" + bountyID.String() + ":submission:" + submissionID.String()
}
