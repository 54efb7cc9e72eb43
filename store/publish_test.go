package store_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// everything that an approval may touch, in one text.
func (d desk) snapshot() string {
	d.t.Helper()
	return d.standing() + " " + d.text(`SELECT concat_ws(' ', (SELECT string_agg(status, ',') FROM publication_reviews),
		(SELECT count(*) FROM resources), (SELECT count(*) FROM resource_versions), (SELECT count(*) FROM distributions),
		(SELECT count(*) FROM notifications), (SELECT count(*) FROM audit_events))`)
}

// Publishing is everything or nothing: whichever step fails, nothing is written.
func TestPublicationIsAtomic(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"resources", "resource_versions", "distributions", "notifications", "audit_events"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			r := d.at(market.ReviewHumanReview, "1.0.0", cleanScan)
			before := d.snapshot()
			d.execute(`CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$`)
			d.execute(`CREATE TRIGGER break BEFORE INSERT ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION break()`)
			if _, err := d.approve(r.ID, false); err == nil {
				t.Fatal("the approval went through")
			}
			if diff := cmp.Diff(before, d.snapshot()); diff != "" {
				t.Errorf("a part was written (-before +after):\n%s", diff)
			}
			d.execute(`DROP TRIGGER break ON ` + table)
			d.must(d.approve(r.ID, false))
		})
	}
}

func TestPublicationWritesEverything(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.at(market.ReviewApproved, "1.0.0", cleanScan)
	if got := d.standing(); got != "published 1.0.0 1.0.0=published" {
		t.Error(got)
	}
	got := d.text(`SELECT concat_ws(' ', r.resource_type, r.lifecycle_status, r.visibility, r.capabilities_status, v.version, v.id = r.latest_version_id,
		v.content_digest = c.content_digest, v.size_bytes, d.channel, d.content_digest = c.content_digest)
		FROM resources r JOIN resource_versions v ON v.resource_id = r.id JOIN distributions d ON d.version_id = v.id
		JOIN course_versions c ON c.id = v.course_version_id WHERE r.course_id = $1`, d.course)
	if got != "course active public matched 1.0.0 t t 12 hosted_bundle t" {
		t.Error(got)
	}
	if got := d.text("SELECT string_agg(type, ' ' ORDER BY created_at, id) FROM notifications WHERE agent_id = $1", d.owner.ID); got != "course_review.human_review course_review.approved" {
		t.Error(got)
	}
	if got := d.text("SELECT string_agg(action, ' ' ORDER BY id) FROM audit_events WHERE subject_id = $1", r.ID); got != "review.requested review.scanned review.approved" {
		t.Error(got)
	}
}

func TestSecondVersion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.at(market.ReviewApproved, "1.0.0", cleanScan)
	d.at(market.ReviewRejected, "1.1.0", cleanScan)
	if got := d.standing(); got != "published 1.0.0 1.0.0=published 1.1.0=rejected" {
		t.Error(got)
	}
	d.at(market.ReviewFailed, "1.2.0", cleanScan)
	d.at(market.ReviewApproved, "2.0.0", cleanScan)
	if got := d.standing(); got != "published 2.0.0 1.0.0=published 1.1.0=rejected 1.2.0=uploaded 2.0.0=published" {
		t.Error(got)
	}
	if got := d.text(`SELECT concat_ws(' ', count(DISTINCT r.id), count(*), max(l.version)) FROM resources r
		JOIN resource_versions v ON v.resource_id = r.id JOIN resource_versions l ON l.id = r.latest_version_id`); got != "1 2 2.0.0" {
		t.Error(got)
	}
}

// A step that runs again after a crash finds its own work done.
func TestSameDecisionAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.at(market.ReviewHumanReview, "1.0.0", cleanScan)
	by := d.by()
	by.RequestKey = "approve/1"
	first := d.must(d.ApproveReview(t.Context(), r.ID, store.Approval{}, by))
	again := d.must(d.ApproveReview(t.Context(), r.ID, store.Approval{}, by))
	if !first.ReviewedAt.Equal(*again.ReviewedAt) {
		t.Error("decided twice")
	}
	by.RequestKey = "approve/2"
	_, err := d.ApproveReview(t.Context(), r.ID, store.Approval{}, by)
	wantRefusal(t, err, market.KindConflict, "review_not_pending")
}

func TestRacingDecisions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.at(market.ReviewHumanReview, "1.0.0", cleanScan)
	results := make([]error, 20)
	var racing sync.WaitGroup
	for i := range results {
		racing.Go(func() {
			if i%2 == 0 {
				_, results[i] = d.approve(r.ID, false)
			} else {
				_, results[i] = d.reject(r.ID)
			}
		})
	}
	racing.Wait()
	decided := 0
	for _, err := range results {
		switch {
		case err == nil:
			decided++
		case !market.HasCode(err, "review_not_pending"):
			t.Error(err)
		}
	}
	if n := d.text("SELECT count(*)::text FROM audit_events WHERE action IN ('review.approved', 'review.rejected')"); decided != 1 || n != "1" {
		t.Errorf("decided %d times, %s recorded", decided, n)
	}
}
