package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Review is a publication review with what readers need of its course.
type Review = db.PublicationReviewDetail

// ReviewLayer is what one layer of the scanner saw, as JSON.
type ReviewLayer = db.ListReviewLayersRow

// GetReview returns a review, or review_not_found.
func (s *Store) GetReview(ctx context.Context, id uuid.UUID) (Review, error) {
	row, err := s.q.GetReview(ctx, id)
	return found(row, err, "review")
}

// GetLatestReview returns the latest review of a course to its owner or to a reviewer.
func (s *Store) GetLatestReview(ctx context.Context, courseID, viewer uuid.UUID, reviewer bool) (Review, error) {
	course, err := s.q.GetCourse(ctx, courseID)
	if err != nil {
		return Review{}, translate(err, "course")
	}
	if !reviewer {
		if err := checkOwner(course, viewer); err != nil {
			return Review{}, err
		}
	}
	row, err := s.q.GetLatestReview(ctx, courseID)
	return found(row, err, "review")
}

// ListReviewLayers returns what the layers of a review's scan saw.
func (s *Store) ListReviewLayers(ctx context.Context, id uuid.UUID) ([]ReviewLayer, error) {
	rows, err := s.q.ListReviewLayers(ctx, id)
	return rows, translate(err, "")
}

// ListReviewQueue returns the reviews that wait for a person, oldest first, from the
// position on, and how many there are in all.
func (s *Store) ListReviewQueue(ctx context.Context, page Page) ([]Review, int64, error) {
	after := Position{}
	if page.After != nil {
		after = *page.After
	}
	rows, err := s.q.ListReviewQueue(ctx, db.ListReviewQueueParams{AfterAt: after.CreatedAt, AfterID: after.ID, PageSize: page.size()})
	if err != nil {
		return nil, 0, translate(err, "")
	}
	total, err := s.q.CountReviewQueue(ctx)
	return rows, total, translate(err, "")
}

// RequestReview asks for the latest version of a course to be published. The same id
// again returns the first.
func (s *Store) RequestReview(ctx context.Context, id, courseID uuid.UUID, by Actor) (Review, error) {
	err := s.inTx(ctx, func(t *tx) error {
		course, err := t.LockCourse(ctx, courseID)
		if err != nil {
			return translate(err, "course")
		}
		if err := checkOwner(course, by.AgentID); err != nil {
			return err
		}
		if _, err := t.Queries.GetReview(ctx, id); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := t.checkReviewable(ctx, course); err != nil {
			return err
		}
		version, err := t.latestUnpublished(ctx, course.ID)
		if err != nil {
			return err
		}
		return t.queueReview(ctx, id, version, by)
	})
	if err != nil {
		return Review{}, err
	}
	return s.GetReview(ctx, id)
}

// QueueAcceptedVersion asks for the version that the bounty's accepted submission
// proposes to be published, on behalf of the bounty's creator. The same id again
// returns the first.
func (s *Store) QueueAcceptedVersion(ctx context.Context, id, bountyID uuid.UUID) (Review, error) {
	bounty, err := s.GetBounty(ctx, bountyID)
	if err != nil {
		return Review{}, err
	}
	err = s.inTx(ctx, func(t *tx) error {
		course, err := t.LockCourse(ctx, bounty.CourseID)
		if err != nil {
			return err
		}
		if _, err := t.Queries.GetReview(ctx, id); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := t.checkReviewable(ctx, course); err != nil {
			return err
		}
		submission, err := t.GetSubmission(ctx, db.GetSubmissionParams{ID: *bounty.AcceptedSubmissionID, BountyID: bountyID})
		if err != nil {
			return err
		}
		version, err := t.GetCourseVersion(ctx, *submission.ProposedCourseVersionID)
		if err != nil {
			return err
		}
		if version.Status == market.VersionPublished {
			return versionPublished()
		}
		return t.queueReview(ctx, id, version, Actor{AgentID: bounty.CreatorAgentID})
	})
	if err != nil {
		return Review{}, err
	}
	return s.GetReview(ctx, id)
}

// CheckReviewRequest refuses, before a workflow is started, what RequestReview would
// refuse. A review of this id that exists is fine: its answer was lost.
func (s *Store) CheckReviewRequest(ctx context.Context, id, courseID uuid.UUID, by Actor) error {
	return s.inTx(ctx, func(t *tx) error {
		course, err := t.GetCourse(ctx, courseID)
		if err != nil {
			return translate(err, "course")
		}
		if err := checkOwner(course, by.AgentID); err != nil {
			return err
		}
		if _, err := t.Queries.GetReview(ctx, id); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := t.checkReviewable(ctx, course); err != nil {
			return err
		}
		_, err = t.latestUnpublished(ctx, courseID)
		return err
	})
}

// checkReviewable is the conflict that forbids a review of the course, if there is one.
func (t *tx) checkReviewable(ctx context.Context, course db.Course) error {
	if err := checkNotBlocked(course); err != nil {
		return err
	}
	if course.Status == market.CourseArchived {
		return market.Conflict("course_archived", "The course is archived.")
	}
	live, err := t.HasLiveReview(ctx, course.ID)
	if err == nil && live {
		err = market.Conflict("review_in_progress", "A review of this course is in progress; wait for its decision.")
	}
	return err
}

// latestUnpublished returns the newest version, which a review asked for is about.
func (t *tx) latestUnpublished(ctx context.Context, courseID uuid.UUID) (db.CourseVersion, error) {
	version, err := t.GetLatestCourseVersion(ctx, courseID)
	if errors.Is(err, pgx.ErrNoRows) {
		return version, market.Conflict("version_missing", "The course has no version; upload one first.")
	}
	if err == nil && version.Status == market.VersionPublished {
		err = versionPublished()
	}
	return version, err
}

func versionPublished() error {
	return market.Conflict("version_published", "The version is published already; upload a new one first.")
}

func (t *tx) queueReview(ctx context.Context, id uuid.UUID, v db.CourseVersion, by Actor) error {
	_, err := t.InsertReview(ctx, db.InsertReviewParams{ID: id, CourseID: v.CourseID, VersionID: v.ID, ContentDigest: v.ContentDigest, InitiatedBy: by.AgentID})
	if err != nil {
		return err
	}
	if err := t.SetCourseVersionStatus(ctx, db.SetCourseVersionStatusParams{ID: v.ID, Status: market.VersionInReview}); err != nil {
		return err
	}
	if err := t.SetCourseInReview(ctx, v.CourseID); err != nil {
		return err
	}
	return t.audit(ctx, by, "review.requested", "publication_review", id, map[string]any{"version_id": v.ID})
}

// lockedReview is a review whose course and row this transaction holds, in that order.
type lockedReview struct {
	db.PublicationReview
	course db.Course
}

// reviewTransition runs change on the locked review. The review of a blocked course is
// cancelled instead, whatever was to happen to it.
func (s *Store) reviewTransition(ctx context.Context, id uuid.UUID, change func(t *tx, r lockedReview) error) (Review, error) {
	unlocked, err := s.GetReview(ctx, id)
	if err != nil {
		return Review{}, err
	}
	err = s.inTx(ctx, func(t *tx) error {
		course, err := t.LockCourse(ctx, unlocked.CourseID)
		if err != nil {
			return err
		}
		review, err := t.LockReview(ctx, id)
		if err != nil {
			return err
		}
		locked := lockedReview{review, course}
		if course.Status == market.CourseBlocked && !review.Status.Final() {
			return t.cancelReview(ctx, locked)
		}
		return change(t, locked)
	})
	if err != nil {
		return Review{}, err
	}
	return s.GetReview(ctx, id)
}

// cancelReview ends the review of a course that was blocked meanwhile.
func (t *tx) cancelReview(ctx context.Context, r lockedReview) error {
	if err := t.SetReviewCancelled(ctx, db.SetReviewCancelledParams{At: t.now, ID: r.ID}); err != nil {
		return err
	}
	if err := t.SetCourseVersionStatus(ctx, db.SetCourseVersionStatusParams{ID: r.VersionID, Status: market.VersionUploaded}); err != nil {
		return err
	}
	if err := t.ForgetReviewBeforeBlock(ctx, r.CourseID); err != nil {
		return err
	}
	return t.audit(ctx, Actor{}, "review.cancelled", "publication_review", r.ID, map[string]any{"reason": "course_blocked"})
}

// BeginScan marks a queued review as being scanned; another one stays as it is.
func (s *Store) BeginScan(ctx context.Context, id uuid.UUID) (Review, error) {
	return s.reviewTransition(ctx, id, func(t *tx, r lockedReview) error {
		if r.Status != market.ReviewQueued {
			return nil
		}
		return t.SetReviewScanning(ctx, db.SetReviewScanningParams{At: t.now, ID: id})
	})
}

// SaveReviewLayer keeps what a layer saw while the review is being scanned.
func (s *Store) SaveReviewLayer(ctx context.Context, id uuid.UUID, layer string, result json.RawMessage) error {
	_, err := s.q.SaveReviewLayer(ctx, db.SaveReviewLayerParams{ReviewID: id, Layer: layer, Result: result})
	return translate(err, "")
}

// ScanOutcome is what the scan as a whole came to.
type ScanOutcome struct {
	ScannerVersion, RulePackVersion string
	Verdict                         string
	RiskScore                       int32
	HighestSeverity                 *string
	FindingsCount                   int32
	CapabilitiesStatus              string
	CapabilityRiskScore             int32
	Mismatches                      json.RawMessage
	Declared, Observed              json.RawMessage
	NeedsAcknowledgement            bool
	DeclarationPatch                json.RawMessage
}

// ConcludeScan hands a scanned review to the reviewers. A version without a main file
// cannot be published by anybody: its review is rejected at once.
func (s *Store) ConcludeScan(ctx context.Context, id uuid.UUID, o ScanOutcome) (Review, error) {
	return s.reviewTransition(ctx, id, func(t *tx, r lockedReview) error {
		if r.Status != market.ReviewScanning {
			return nil
		}
		err := t.SetReviewScanned(ctx, db.SetReviewScannedParams{
			At: &t.now, ScannerVersion: &o.ScannerVersion, RulePackVersion: &o.RulePackVersion, Verdict: &o.Verdict, RiskScore: &o.RiskScore,
			HighestSeverity: o.HighestSeverity, FindingsCount: o.FindingsCount,
			CapabilitiesStatus: &o.CapabilitiesStatus, CapabilityRiskScore: &o.CapabilityRiskScore,
			CapabilityMismatches: o.Mismatches, DeclaredCapabilities: o.Declared, ObservedCapabilities: o.Observed,
			NeedsAcknowledgement: o.NeedsAcknowledgement, DeclarationPatch: o.DeclarationPatch, ID: id,
		})
		if err != nil {
			return err
		}
		version, err := t.GetCourseVersion(ctx, r.VersionID)
		if err != nil {
			return err
		}
		if version.MainFile == nil {
			return t.reject(ctx, r, Actor{}, nil, Rejection{Reason: "main_file_missing",
				Notes: "The bundle has neither SKILL.md nor COURSE.md at its root. Add one, upload a new version and ask again."})
		}
		if err := t.notify(ctx, reviewNotice(r, market.NotifyReviewHumanReview, "Your course waits for a reviewer", nil)); err != nil {
			return err
		}
		return t.audit(ctx, Actor{}, "review.scanned", "publication_review", id, map[string]any{"verdict": o.Verdict, "risk_score": o.RiskScore})
	})
}

// FailReview ends a review whose scan could not be completed. The owner may ask again.
func (s *Store) FailReview(ctx context.Context, id uuid.UUID, code string) (Review, error) {
	return s.reviewTransition(ctx, id, func(t *tx, r lockedReview) error {
		if r.Status != market.ReviewQueued && r.Status != market.ReviewScanning {
			return nil
		}
		if err := t.SetReviewFailed(ctx, db.SetReviewFailedParams{Code: &code, At: &t.now, ID: id}); err != nil {
			return err
		}
		if err := t.sendBack(ctx, r, market.VersionUploaded); err != nil {
			return err
		}
		if err := t.notify(ctx, reviewNotice(r, market.NotifyReviewFailed, "The review of your course could not be completed; ask again", map[string]any{"failure_code": code})); err != nil {
			return err
		}
		return t.audit(ctx, Actor{}, "review.failed", "publication_review", id, map[string]any{"code": code})
	})
}

// sendBack returns the version and, unless an older one is published, the course to its owner.
func (t *tx) sendBack(ctx context.Context, r lockedReview, version market.VersionStatus) error {
	if err := t.SetCourseVersionStatus(ctx, db.SetCourseVersionStatusParams{ID: r.VersionID, Status: version}); err != nil {
		return err
	}
	return t.SetCourseReviewed(ctx, r.CourseID)
}

func reviewNotice(r lockedReview, kind market.NotificationType, title string, data map[string]any) notice {
	all := map[string]any{"review_id": r.ID, "course_id": r.CourseID, "version_id": r.VersionID}
	for k, v := range data {
		all[k] = v
	}
	return notice{to: r.course.OwnerAgentID, kind: kind, title: title, body: r.course.Title, subjectType: "publication_review", subjectID: r.ID, data: all}
}
