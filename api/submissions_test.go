package api_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

func TestSubmitRefusals(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	sibling := m.db.NewAgent(t, storetest.NewAgentOptions{UserID: b.Creator.UserID})
	late := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	m.db.PassDeadline(t, late.ID)
	fresh := func() string { return m.agent().Key }
	tests := map[string]struct {
		key    string
		bounty uuid.UUID
		more   []any
		want   outcome
	}{
		"another's open bounty":          {fresh(), b.ID, nil, outcome{201, ""}},
		"the creator itself":             {b.Creator.Key, b.ID, nil, outcome{422, "own_bounty"}},
		"another agent of the same user": {sibling.Key, b.ID, nil, outcome{422, "own_bounty"}},
		"a second live one":              {b.Submitter.Key, b.ID, nil, outcome{422, "submission_exists"}},
		"after the deadline":             {fresh(), late.ID, nil, outcome{422, "submission_deadline_passed"}},
		"an unknown bounty":              {fresh(), uuid.New(), nil, outcome{404, "bounty_not_found"}},
		"no title":                       {fresh(), b.ID, []any{"title", nil}, outcome{422, "validation_error"}},
		"evidence that is no object":     {fresh(), b.ID, []any{"evidence", []string{"x"}}, outcome{422, "validation_error"}},
		"a version that is no UUID":      {fresh(), b.ID, []any{"proposed_course_version_id", "1.0.0"}, outcome{422, "validation_error"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			m.expect(m.submit(test.key, test.bounty, test.more...), test.want.status, test.want.code)
		})
	}
}

func TestProposedVersionMustBeOfTheCourseAndVisible(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	owner := m.agent()
	course := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID, Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{CourseID: course, Status: market.BountyOpen})
	elsewhere := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID, Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	uploaded, foreign := m.db.NewVersion(t, course, "2.0.0"), m.db.NewVersion(t, elsewhere, "2.0.0")
	public := m.db.NewVersion(t, course, "1.5.0")
	if _, err := m.db.Pool().Exec(t.Context(), "UPDATE course_versions SET status = 'published' WHERE id = $1", public); err != nil {
		t.Fatal(err)
	}
	invalid := outcome{422, "proposed_version_invalid"}
	tests := map[string]struct {
		key     string
		version uuid.UUID
		want    outcome
	}{
		"a published version":           {m.agent().Key, public, outcome{201, ""}},
		"the owner's uploaded version":  {owner.Key, uploaded, outcome{201, ""}},
		"another's uploaded version":    {m.agent().Key, uploaded, invalid},
		"a version of another course":   {m.agent().Key, foreign, invalid},
		"the same, by the owner's user": {m.db.NewAgent(t, storetest.NewAgentOptions{UserID: owner.UserID}).Key, foreign, invalid},
		"an unknown version":            {m.agent().Key, uuid.New(), invalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			m.expect(m.submit(test.key, b.ID, "proposed_course_version_id", test.version), test.want.status, test.want.code)
		})
	}
}

// A submission can be sent again once the one before is out of the way.
func TestSubmitAgainAfterWithdrawalOrRejection(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	for name, end := range map[string]func(*marketplace, storetest.Bounty) answer{
		"withdrawn": func(m *marketplace, b storetest.Bounty) answer {
			return m.withdraw(b.Submitter.Key, b.ID, b.Submission)
		},
		"rejected": func(m *marketplace, b storetest.Bounty) answer { return m.reject(b.Creator.Key, b.ID, b.Submission) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
			ended := m.want(end(m, b), 200, "")
			if got := ended.value("status"); got != name {
				t.Errorf("status %q, want %q", got, name)
			}
			m.expect(end(m, b), 422, "submission_not_live")
			m.expect(m.accept(b.Creator.Key, b.ID, b.Submission), 422, "submission_not_live")
			m.expect(m.submit(b.Submitter.Key, b.ID), 201, "")
		})
	}
}

func TestSubmissionRecord(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	agent := m.agent()
	evidence := map[string]any{"tests": "pass", "lines": 3.0}
	a := m.want(m.submit(agent.Key, b.ID, "evidence", evidence, "codehost_pr", true), 201, "")
	made := decode[struct {
		ID          uuid.UUID      `json:"id"`
		Status      string         `json:"status"`
		SubmitterID uuid.UUID      `json:"submitter_agent_id"`
		Evidence    map[string]any `json:"evidence"`
		CodehostPR  struct {
			Requested bool   `json:"requested"`
			Status    string `json:"status"`
		} `json:"codehost_pr"`
	}](t, a)
	if made.Status != "submitted" || made.SubmitterID != agent.ID || made.Evidence["tests"] != "pass" || made.Evidence["lines"] != 3.0 {
		t.Errorf("made %s", a.body)
	}
	if !made.CodehostPR.Requested || made.CodehostPR.Status != "disabled" {
		t.Errorf("without a code host the pull request is %+v", made.CodehostPR)
	}
	path := submissionPath(b.ID, made.ID)
	for _, reader := range []storetest.Agent{agent, b.Creator} {
		m.expect(m.send(http.MethodGet, path, reader.Key, nil), 200, "")
	}
	m.expect(m.send(http.MethodGet, path, b.Submitter.Key, nil), 404, "submission_not_found")
	m.expect(m.send(http.MethodGet, submissionPath(m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen}).ID, made.ID), agent.Key, nil), 404, "submission_not_found")
}

// The creator sees every submission, others their own, newest first and by pages.
func TestListSubmissions(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	second := m.agent()
	m.db.NewSubmission(t, b.ID, second.ID)
	path := "/v1/bounties/" + b.ID.String() + "/submissions"
	for _, test := range []struct {
		reader storetest.Agent
		want   []string
	}{
		{b.Creator, []string{second.Name, b.Submitter.Name}},
		{b.Submitter, []string{b.Submitter.Name}},
		{second, []string{second.Name}},
		{m.agent(), nil},
	} {
		var names []string
		for next := path + "?limit=1"; next != ""; {
			a := m.want(m.send(http.MethodGet, next, test.reader.Key, nil), 200, "")
			for _, item := range decode[[]struct {
				Name string `json:"submitter_agent_name"`
			}](t, a) {
				names = append(names, item.Name)
			}
			next = nextLink(t, a)
		}
		if len(names) != len(test.want) {
			t.Fatalf("listed %v, want %v", names, test.want)
		}
		for i, name := range names {
			if name != test.want[i] {
				t.Errorf("listed %v, want %v", names, test.want)
			}
		}
	}
}
