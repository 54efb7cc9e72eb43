package api_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

// proposed is an open bounty on a published course of the author, to which the author
// has submitted a new version.
func (p *publishing) proposed() (b storetest.Bounty, course, version, submission uuid.UUID) {
	p.t.Helper()
	course, review := p.waiting(weather)
	p.want(p.approve(p.reviewer.Key, review.ID, map[string]any{}), 200, "")
	version = p.addVersion(course, "1.1.0", weather.with(files{"COURSE.md": "# More about the weather\n"}))
	b = p.db.NewBounty(p.t, storetest.NewBountyOptions{CourseID: course})
	p.want(p.fund(b.Creator.Key, b.ID), 200, "")
	p.want(p.open(b.Creator.Key, b.ID), 200, "")
	submission = uuid.MustParse(p.want(p.submit(p.author.Key, b.ID, "proposed_course_version_id", version), 201, "").value("id"))
	return b, course, version, submission
}

func TestAcceptedVersionGoesStraightIntoReview(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	b, course, version, submission := p.proposed()
	p.want(p.accept(b.Creator.Key, b.ID, submission), 200, "")
	review := p.awaitStatus(course, market.ReviewHumanReview)
	if review.VersionID != version || review.InitiatedBy != b.Creator.ID {
		t.Errorf("reviewed is version %s for %s, want %s for the bounty's creator %s", review.VersionID, review.InitiatedBy, version, b.Creator.ID)
	}
	// Payment does not wait for the reviewer.
	p.want(p.pay(b.Creator.Key, b.ID), 201, "")
	p.awaitBounty(b.Creator.Key, b.ID, "paid")
	p.want(p.approve(p.reviewer.Key, review.ID, map[string]any{}), 200, "")
	if n := p.count("SELECT count(*) FROM courses WHERE id = $1 AND published_version_id = $2", course, version); n != 1 {
		t.Error("the accepted version is not the published one")
	}
}

// Where a review is under way already, accepting asks for no other, and pays all the same.
func TestAcceptedVersionWaitsForNoSecondReview(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	b, course, _, submission := p.proposed()
	p.reviewed(course, market.ReviewHumanReview)
	p.want(p.accept(b.Creator.Key, b.ID, submission), 200, "")
	p.want(p.pay(b.Creator.Key, b.ID), 201, "")
	p.awaitBounty(b.Creator.Key, b.ID, "paid")
	if n := p.count("SELECT count(*) FROM publication_reviews WHERE course_id = $1", course); n != 2 {
		t.Errorf("%d reviews", n)
	}
}
