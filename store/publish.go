package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// ApproveReview publishes the version under review: review, course, catalog resource,
// resource version, hosted distribution and notification change together.
func (s *Store) ApproveReview(ctx context.Context, id uuid.UUID, d Approval, by Reviewer) (Review, error) {
	return s.reviewTransition(ctx, id, func(t *tx, r lockedReview) error {
		if done, err := t.wasDone(ctx, by.Actor, "review.approved", id); err != nil || done {
			return err
		}
		if err := t.checkDecidable(ctx, r, by); err != nil {
			return err
		}
		if err := t.checkApprovable(ctx, r, d); err != nil {
			return err
		}
		err := t.SetReviewApproved(ctx, db.SetReviewApprovedParams{Acknowledged: d.Acknowledged, Notes: d.Notes,
			UserID: &by.UserID, AgentID: &by.AgentID, At: &t.now, ID: id})
		if err != nil {
			return err
		}
		resourceID, err := t.publish(ctx, r)
		if err != nil {
			return err
		}
		data := map[string]any{"resource_id": resourceID}
		if err := t.notify(ctx, reviewNotice(r, market.NotifyReviewApproved, "Your course is published", data)); err != nil {
			return err
		}
		return t.audit(ctx, by.Actor, "review.approved", "publication_review", id, map[string]any{"acknowledged": d.Acknowledged})
	})
}

// checkApprovable refuses what must not be published as it stands.
func (t *tx) checkApprovable(ctx context.Context, r lockedReview, d Approval) error {
	owner, err := t.LockAgentStanding(ctx, r.course.OwnerAgentID)
	if err != nil {
		return err
	}
	if !owner.Active {
		return market.Conflict("owner_suspended", "The course's owner is suspended; reject the review, or decide after the reactivation.")
	}
	if r.NeedsAcknowledgement && !d.Acknowledged {
		return market.Refused("capability_acknowledgement_required",
			"The review has capability mismatches; send acknowledge_capability_mismatches: true if you accept them.")
	}
	version, err := t.GetCourseVersion(ctx, r.VersionID)
	if err != nil {
		return err
	}
	if version.ContentDigest != r.ContentDigest {
		return market.Conflict("digest_changed", "The version is not what was reviewed; ask the owner to request publication again.")
	}
	return nil
}

// publish puts the version under review into the catalog and returns the resource.
func (t *tx) publish(ctx context.Context, r lockedReview) (uuid.UUID, error) {
	version, err := t.GetCourseVersion(ctx, r.VersionID)
	if err != nil {
		return uuid.Nil, err
	}
	if err := t.SetCourseVersionStatus(ctx, db.SetCourseVersionStatusParams{ID: version.ID, Status: market.VersionPublished}); err != nil {
		return uuid.Nil, err
	}
	if err := t.SetCoursePublished(ctx, db.SetCoursePublishedParams{VersionID: &version.ID, ID: r.CourseID}); err != nil {
		return uuid.Nil, err
	}
	c := r.course
	resourceID, err := t.UpsertCourseResource(ctx, db.UpsertCourseResourceParams{
		ID: newID(), Identifier: "urn:course:" + c.ID.String(), Slug: c.Slug, Title: c.Title, Summary: c.Summary, Visibility: string(c.Visibility),
		CourseID: &c.ID, OwnerAgentID: &c.OwnerAgentID, PriceCents: c.PriceCents,
		CapabilitiesStatus: r.CapabilitiesStatus, CapabilityRiskScore: r.CapabilityRiskScore,
	})
	if err != nil {
		return uuid.Nil, err
	}
	versionID := newID()
	err = t.InsertResourceVersion(ctx, db.InsertResourceVersionParams{ID: versionID, ResourceID: resourceID, Version: version.Version,
		ContentDigest: &version.ContentDigest, SizeBytes: &version.SizeBytes, CourseVersionID: &version.ID, PublishedAt: &t.now})
	if err != nil {
		return uuid.Nil, err
	}
	if err := t.SetLatestResourceVersion(ctx, db.SetLatestResourceVersionParams{VersionID: &versionID, ID: resourceID}); err != nil {
		return uuid.Nil, err
	}
	return resourceID, t.InsertDistribution(ctx, db.InsertDistributionParams{ID: newID(), VersionID: versionID,
		Channel: "hosted_bundle", ContentDigest: &version.ContentDigest})
}
