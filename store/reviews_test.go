package store_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// desk is a course with its owner and a reviewer of it.
type desk struct {
	*storetest.DB
	t        *testing.T
	owner    storetest.Agent
	reviewer storetest.Agent
	course   uuid.UUID
}

func newDesk(t *testing.T) desk {
	t.Helper()
	return desk{DB: storetest.New(t), t: t}.another()
}

// another is a desk with a course of its own, on the same database.
func (d desk) another() desk {
	d.t.Helper()
	d.owner = d.NewAgent(d.t, storetest.NewAgentOptions{})
	d.reviewer = d.NewAgent(d.t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleReviewer}})
	d.course = d.NewCourse(d.t, storetest.NewCourseOptions{Owner: d.owner.ID, Visibility: market.VisibilityPublic})
	return d
}

func (d desk) must(r store.Review, err error) store.Review {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d desk) execute(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.Pool().Exec(d.t.Context(), statement, args...); err != nil {
		d.t.Fatal(err)
	}
}

func (d desk) text(query string, args ...any) string {
	d.t.Helper()
	var s string
	if err := d.Pool().QueryRow(d.t.Context(), query, args...).Scan(&s); err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d desk) upload(number string) uuid.UUID {
	d.t.Helper()
	v, err := d.CreateVersion(d.t.Context(), newVersion(d.course, number), store.Actor{AgentID: d.owner.ID})
	if err != nil {
		d.t.Fatal(err)
	}
	return v.ID
}

func (d desk) request() (store.Review, error) {
	return d.RequestReview(d.t.Context(), uuid.Must(uuid.NewV7()), d.course, store.Actor{AgentID: d.owner.ID})
}

var cleanScan = store.ScanOutcome{ScannerVersion: "1", RulePackVersion: "1", Verdict: "allow", CapabilitiesStatus: "matched"}

// mismatchedScan needs an acknowledgement.
var mismatchedScan = store.ScanOutcome{ScannerVersion: "1", RulePackVersion: "1", Verdict: "review", RiskScore: 15, FindingsCount: 1,
	CapabilitiesStatus: "mismatched", CapabilityRiskScore: 12, NeedsAcknowledgement: true,
	Mismatches: json.RawMessage(`[]`), DeclarationPatch: json.RawMessage(`{"operations":[],"result":{}}`)}

// at uploads a version and brings its review to the status.
func (d desk) at(status market.ReviewStatus, number string, scan store.ScanOutcome) store.Review {
	d.t.Helper()
	d.upload(number)
	r := d.must(d.request())
	switch status {
	case market.ReviewQueued:
		return r
	case market.ReviewFailed:
		return d.must(d.FailReview(d.t.Context(), r.ID, "scan_failed"))
	}
	r = d.must(d.BeginScan(d.t.Context(), r.ID))
	if status == market.ReviewScanning {
		return r
	}
	r = d.must(d.ConcludeScan(d.t.Context(), r.ID, scan))
	switch status {
	case market.ReviewApproved:
		return d.must(d.approve(r.ID, true))
	case market.ReviewRejected:
		return d.must(d.reject(r.ID))
	case market.ReviewCancelled:
		d.BlockCourse(d.t, d.course)
		_, _ = d.approve(r.ID, true)
		return d.must(d.GetReview(d.t.Context(), r.ID))
	}
	return r
}

func (d desk) by() store.Reviewer {
	return store.Reviewer{Actor: store.Actor{AgentID: d.reviewer.ID}, UserID: d.reviewer.UserID}
}

func (d desk) approve(id uuid.UUID, acknowledged bool) (store.Review, error) {
	return d.ApproveReview(d.t.Context(), id, store.Approval{Acknowledged: acknowledged}, d.by())
}

func (d desk) reject(id uuid.UUID) (store.Review, error) {
	return d.RejectReview(d.t.Context(), id, store.Rejection{Reason: "Misleading", Notes: "It does something else."}, d.by())
}

// standing is the course's status, its published version and the status of each version.
func (d desk) standing() string {
	d.t.Helper()
	return d.text(`SELECT c.status || ' ' || coalesce(p.version, 'none') || ' ' || coalesce(string_agg(v.version || '=' || v.status, ' ' ORDER BY v.version), '')
		FROM courses c LEFT JOIN course_versions p ON p.id = c.published_version_id LEFT JOIN course_versions v ON v.course_id = c.id
		WHERE c.id = $1 GROUP BY c.status, p.version`, d.course)
}

func TestReviewRequestGuards(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(d *desk)
		by      func(d desk) uuid.UUID
		kind    market.Kind
		code    string
	}{
		"no version":       {nil, nil, market.KindConflict, "version_missing"},
		"another's draft":  {func(d *desk) { d.upload("1.0.0") }, func(d desk) uuid.UUID { return d.reviewer.ID }, market.KindNotFound, "course_not_found"},
		"another's course": {func(d *desk) { d.at(market.ReviewApproved, "1.0.0", cleanScan) }, func(d desk) uuid.UUID { return d.reviewer.ID }, market.KindForbidden, "not_course_owner"},
		"an unknown one":   {func(d *desk) { d.course = uuid.New() }, nil, market.KindNotFound, "course_not_found"},
		"blocked":          {func(d *desk) { d.upload("1.0.0"); d.BlockCourse(d.t, d.course) }, nil, market.KindConflict, "course_blocked"},
		"archived":         {func(d *desk) { d.upload("1.0.0"); d.execute("UPDATE courses SET status = 'archived'") }, nil, market.KindConflict, "course_archived"},
		"queued already":   {func(d *desk) { d.at(market.ReviewQueued, "1.0.0", cleanScan) }, nil, market.KindConflict, "review_in_progress"},
		"scanned already":  {func(d *desk) { d.at(market.ReviewScanning, "1.0.0", cleanScan) }, nil, market.KindConflict, "review_in_progress"},
		"waiting already":  {func(d *desk) { d.at(market.ReviewHumanReview, "1.0.0", cleanScan) }, nil, market.KindConflict, "review_in_progress"},
		"published":        {func(d *desk) { d.at(market.ReviewApproved, "1.0.0", cleanScan) }, nil, market.KindConflict, "version_published"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			if test.prepare != nil {
				test.prepare(&d)
			}
			by, id := store.Actor{AgentID: d.owner.ID}, uuid.Must(uuid.NewV7())
			if test.by != nil {
				by.AgentID = test.by(d)
			}
			wantRefusal(t, d.CheckReviewRequest(t.Context(), id, d.course, by), test.kind, test.code)
			_, err := d.RequestReview(t.Context(), id, d.course, by)
			wantRefusal(t, err, test.kind, test.code)
		})
	}
}

func TestRequestedAgainAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, status := range []market.ReviewStatus{market.ReviewFailed, market.ReviewRejected} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			earlier := d.at(status, "1.0.0", cleanScan)
			again := d.must(d.request())
			if again.ID == earlier.ID || again.Status != market.ReviewQueued || again.VersionID != earlier.VersionID {
				t.Errorf("%+v", again)
			}
			latest, err := d.GetLatestReview(t.Context(), d.course, d.owner.ID, false)
			if err != nil || latest.ID != again.ID {
				t.Errorf("the latest is %s, %v", latest.ID, err)
			}
		})
	}
}

func TestSameRequestIsOneReview(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("1.0.0")
	id, by := uuid.Must(uuid.NewV7()), store.Actor{AgentID: d.owner.ID}
	first := d.must(d.RequestReview(t.Context(), id, d.course, by))
	again := d.must(d.RequestReview(t.Context(), id, d.course, by))
	if first.ID != again.ID || !first.CreatedAt.Equal(again.CreatedAt) {
		t.Errorf("%+v, then %+v", first, again)
	}
	if err := d.CheckReviewRequest(t.Context(), id, d.course, by); err != nil {
		t.Error(err)
	}
}

// Steps of the scan come from activities that may run again, late: outside of their
// state they change nothing.
func TestScanStepsKeepToTheirState(t *testing.T) {
	t.Parallel()
	for _, status := range []market.ReviewStatus{market.ReviewQueued, market.ReviewScanning, market.ReviewHumanReview, market.ReviewApproved, market.ReviewRejected, market.ReviewFailed, market.ReviewCancelled} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			steps := map[string]struct {
				run   func(d desk, id uuid.UUID) (store.Review, error)
				moves map[market.ReviewStatus]market.ReviewStatus
			}{
				"begin": {func(d desk, id uuid.UUID) (store.Review, error) { return d.BeginScan(t.Context(), id) },
					map[market.ReviewStatus]market.ReviewStatus{market.ReviewQueued: market.ReviewScanning}},
				"conclude": {func(d desk, id uuid.UUID) (store.Review, error) { return d.ConcludeScan(t.Context(), id, cleanScan) },
					map[market.ReviewStatus]market.ReviewStatus{market.ReviewScanning: market.ReviewHumanReview}},
				"fail": {func(d desk, id uuid.UUID) (store.Review, error) { return d.FailReview(t.Context(), id, "scan_failed") },
					map[market.ReviewStatus]market.ReviewStatus{market.ReviewQueued: market.ReviewFailed, market.ReviewScanning: market.ReviewFailed}},
			}
			d := newDesk(t)
			for name, step := range steps {
				d := d.another()
				before := d.at(status, "1.0.0", cleanScan)
				after := d.must(step.run(d, before.ID))
				want, moves := step.moves[status]
				if !moves {
					want = status
				}
				if after.Status != want || !moves && !after.UpdatedAt.Equal(before.UpdatedAt) {
					t.Errorf("%s: %s became %s", name, status, after.Status)
				}
			}
			r := d.at(status, "1.0.0", cleanScan)
			if err := d.SaveReviewLayer(t.Context(), r.ID, "static", json.RawMessage(`{}`)); err != nil {
				t.Fatal(err)
			}
			layers, err := d.ListReviewLayers(t.Context(), r.ID)
			if err != nil || (len(layers) == 1) != (status == market.ReviewScanning) {
				t.Errorf("a layer was saved in %s: %v, %v", status, layers, err)
			}
		})
	}
}

func TestLayerThatRanAgainReplacesItsResult(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.at(market.ReviewScanning, "1.0.0", cleanScan)
	for i := range 3 {
		if err := d.SaveReviewLayer(t.Context(), r.ID, "static", json.RawMessage(fmt.Sprintf(`{"try": %d}`, i))); err != nil {
			t.Fatal(err)
		}
	}
	layers, err := d.ListReviewLayers(t.Context(), r.ID)
	if err != nil || len(layers) != 1 || string(layers[0].Result) != `{"try": 2}` {
		t.Errorf("%s, %v", layers, err)
	}
}

func TestVersionWithoutMainFileIsRejected(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	n := newVersion(d.course, "1.0.0")
	n.MainFile = ""
	if _, err := d.CreateVersion(t.Context(), n, store.Actor{AgentID: d.owner.ID}); err != nil {
		t.Fatal(err)
	}
	r := d.must(d.request())
	d.must(d.BeginScan(t.Context(), r.ID))
	r = d.must(d.ConcludeScan(t.Context(), r.ID, cleanScan))
	if r.Status != market.ReviewRejected || *r.DecisionReason != "main_file_missing" || r.ReviewedByUserID != nil {
		t.Errorf("%+v", r)
	}
	if got := d.standing(); got != "draft none 1.0.0=rejected" {
		t.Error(got)
	}
}

func TestDecisionGuards(t *testing.T) {
	t.Parallel()
	approve := func(d desk, id uuid.UUID) error { _, err := d.approve(id, false); return err }
	acknowledge := func(d desk, id uuid.UUID) error { _, err := d.approve(id, true); return err }
	reject := func(d desk, id uuid.UUID) error { _, err := d.reject(id); return err }
	own := func(d *desk) { d.reviewer = d.NewAgent(d.t, storetest.NewAgentOptions{UserID: d.owner.UserID}) }
	tamper := func(d *desk) {
		d.execute("ALTER TABLE course_versions DISABLE TRIGGER course_versions_immutable")
		d.execute("UPDATE course_versions SET content_digest = 'sha256:' || repeat('f', 64)")
		d.execute("ALTER TABLE course_versions ENABLE TRIGGER course_versions_immutable")
	}
	tests := map[string]struct {
		status  market.ReviewStatus
		scan    store.ScanOutcome
		prepare func(d *desk)
		decide  func(d desk, id uuid.UUID) error
		kind    market.Kind
		code    string
		// cancels says that the review is over afterwards.
		cancels bool
	}{
		"approve one's own course":   {market.ReviewHumanReview, cleanScan, own, approve, market.KindForbidden, "own_course", false},
		"reject one's own course":    {market.ReviewHumanReview, cleanScan, own, reject, market.KindForbidden, "own_course", false},
		"approve queued":             {market.ReviewQueued, cleanScan, nil, approve, market.KindConflict, "review_not_pending", false},
		"approve while scanning":     {market.ReviewScanning, cleanScan, nil, approve, market.KindConflict, "review_not_pending", false},
		"reject while scanning":      {market.ReviewScanning, cleanScan, nil, reject, market.KindConflict, "review_not_pending", false},
		"approve twice":              {market.ReviewApproved, cleanScan, nil, approve, market.KindConflict, "review_not_pending", false},
		"reject after an approval":   {market.ReviewApproved, cleanScan, nil, reject, market.KindConflict, "review_not_pending", false},
		"approve after a rejection":  {market.ReviewRejected, cleanScan, nil, approve, market.KindConflict, "review_not_pending", false},
		"approve a failed one":       {market.ReviewFailed, cleanScan, nil, approve, market.KindConflict, "review_not_pending", false},
		"approve a cancelled one":    {market.ReviewCancelled, cleanScan, nil, approve, market.KindConflict, "review_not_pending", false},
		"approve unacknowledged":     {market.ReviewHumanReview, mismatchedScan, nil, approve, market.KindRefused, "capability_acknowledgement_required", false},
		"approve a suspended agent":  {market.ReviewHumanReview, cleanScan, func(d *desk) { d.SuspendAgent(d.t, d.owner.ID) }, approve, market.KindConflict, "owner_suspended", false},
		"approve a suspended user":   {market.ReviewHumanReview, cleanScan, func(d *desk) { d.SuspendUser(d.t, d.owner.UserID) }, approve, market.KindConflict, "owner_suspended", false},
		"approve what was changed":   {market.ReviewHumanReview, cleanScan, tamper, approve, market.KindConflict, "digest_changed", false},
		"approve a blocked course":   {market.ReviewHumanReview, cleanScan, func(d *desk) { d.BlockCourse(d.t, d.course) }, approve, "", "", true},
		"reject a blocked course":    {market.ReviewHumanReview, cleanScan, func(d *desk) { d.BlockCourse(d.t, d.course) }, reject, "", "", true},
		"approve acknowledged":       {market.ReviewHumanReview, mismatchedScan, nil, acknowledge, "", "", false},
		"reject a suspended owner's": {market.ReviewHumanReview, cleanScan, func(d *desk) { d.SuspendAgent(d.t, d.owner.ID) }, reject, "", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			r := d.at(test.status, "1.0.0", test.scan)
			if test.prepare != nil {
				test.prepare(&d)
			}
			before := d.standing()
			err := test.decide(d, r.ID)
			after := d.must(d.GetReview(t.Context(), r.ID))
			switch {
			case test.code != "":
				wantRefusal(t, err, test.kind, test.code)
				if after.Status != r.Status || d.standing() != before {
					t.Errorf("refused, but the review is %s and the course %s", after.Status, d.standing())
				}
			case err != nil:
				t.Error(err)
			case test.cancels && (after.Status != market.ReviewCancelled || d.standing() != "blocked none 1.0.0=uploaded" ||
				d.text("SELECT status_before_block FROM courses WHERE id = $1", d.course) != "draft"):
				t.Errorf("the review is %s, the course %s", after.Status, d.standing())
			}
		})
	}
}

// A blocked course ends its review at whichever step comes next.
func TestBlockedCourseCancelsEveryStep(t *testing.T) {
	t.Parallel()
	steps := map[string]struct {
		status market.ReviewStatus
		run    func(d desk, id uuid.UUID) (store.Review, error)
	}{
		"begin":    {market.ReviewQueued, func(d desk, id uuid.UUID) (store.Review, error) { return d.BeginScan(t.Context(), id) }},
		"conclude": {market.ReviewScanning, func(d desk, id uuid.UUID) (store.Review, error) { return d.ConcludeScan(t.Context(), id, cleanScan) }},
		"fail":     {market.ReviewScanning, func(d desk, id uuid.UUID) (store.Review, error) { return d.FailReview(t.Context(), id, "scan_failed") }},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			r := d.at(step.status, "1.0.0", cleanScan)
			d.BlockCourse(t, d.course)
			if r = d.must(step.run(d, r.ID)); r.Status != market.ReviewCancelled {
				t.Errorf("the review is %s", r.Status)
			}
		})
	}
}

func TestRejectionSendsBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.at(market.ReviewHumanReview, "1.0.0", mismatchedScan)
	code := "network_domain_not_declared"
	r = d.must(d.RejectReview(t.Context(), r.ID, store.Rejection{Reason: "Undeclared", Notes: "Declare it.", CapabilityReasonCode: &code}, d.by()))
	if r.Status != market.ReviewRejected || *r.CapabilityReasonCode != code || *r.DecisionReason != "Undeclared" || *r.ReviewedByAgentID != d.reviewer.ID {
		t.Errorf("%+v", r)
	}
	if got := d.standing(); got != "draft none 1.0.0=rejected" {
		t.Error(got)
	}
}

func TestRacingRequests(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("1.0.0")
	results := make([]error, 20)
	var racing sync.WaitGroup
	for i := range results {
		racing.Go(func() { _, results[i] = d.request() })
	}
	racing.Wait()
	queued := 0
	for _, err := range results {
		switch {
		case err == nil:
			queued++
		case !market.HasCode(err, "review_in_progress"):
			t.Error(err)
		}
	}
	if queued != 1 {
		t.Errorf("%d reviews were queued", queued)
	}
}
