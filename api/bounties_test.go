package api_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

// The states that a bounty can be in, and how a test gets it there.
var bountyStates = []struct {
	name string
	make storetest.NewBountyOptions
}{
	{"draft", storetest.NewBountyOptions{}},
	{"funded", storetest.NewBountyOptions{Funded: true}},
	{"open", storetest.NewBountyOptions{Status: market.BountyOpen}},
	{"awarded", storetest.NewBountyOptions{Status: market.BountyAwarded}},
	{"paid", storetest.NewBountyOptions{Status: market.BountyPaid}},
	{"cancelled", storetest.NewBountyOptions{Status: market.BountyCancelled}},
	{"expired", storetest.NewBountyOptions{Status: market.BountyExpired}},
}

// outcome is what an operation answers: a status and, of a refusal, its code.
type outcome struct {
	status int
	code   string
}

// What every operation answers in every state. A submission exists from open on.
func TestEveryOperationInEveryState(t *testing.T) {
	t.Parallel()
	ok, made := outcome{200, ""}, outcome{201, ""}
	state := outcome{422, "bounty_state_invalid"}
	unseen, none := outcome{404, "bounty_not_found"}, outcome{404, "submission_not_found"}
	decided := outcome{422, "submission_not_live"}
	unfunded := outcome{422, "bounty_not_funded"}
	tests := []struct {
		name string
		call func(*marketplace, storetest.Bounty) answer
		//                                     draft     funded  open   awarded  paid     cancelled expired
		want [7]outcome
	}{
		{"fund", func(m *marketplace, b storetest.Bounty) answer { return m.fund(b.Creator.Key, b.ID) },
			[7]outcome{ok, ok, ok, ok, state, state, state}},
		{"open", func(m *marketplace, b storetest.Bounty) answer { return m.open(b.Creator.Key, b.ID) },
			[7]outcome{unfunded, ok, state, state, state, state, state}},
		{"cancel", func(m *marketplace, b storetest.Bounty) answer { return m.cancel(b.Creator.Key, b.ID) },
			[7]outcome{ok, ok, ok, state, state, state, state}},
		{"update", func(m *marketplace, b storetest.Bounty) answer { return m.update(b.Creator.Key, b.ID, false) },
			[7]outcome{ok, ok, ok, ok, state, state, state}},
		{"submit", func(m *marketplace, b storetest.Bounty) answer { return m.submit(m.agent().Key, b.ID) },
			[7]outcome{unseen, unseen, made, state, state, state, state}},
		{"accept", func(m *marketplace, b storetest.Bounty) answer { return m.accept(b.Creator.Key, b.ID, b.Submission) },
			[7]outcome{none, none, ok, state, state, state, state}},
		{"reject", func(m *marketplace, b storetest.Bounty) answer { return m.reject(b.Creator.Key, b.ID, b.Submission) },
			[7]outcome{none, none, ok, decided, decided, decided, decided}},
		{"withdraw", func(m *marketplace, b storetest.Bounty) answer {
			if b.Submitter.Key == "" {
				return m.withdraw(m.agent().Key, b.ID, b.Submission)
			}
			return m.withdraw(b.Submitter.Key, b.ID, b.Submission)
		}, [7]outcome{unseen, unseen, ok, decided, decided, decided, decided}},
		{"payout", func(m *marketplace, b storetest.Bounty) answer { return m.pay(b.Creator.Key, b.ID) },
			[7]outcome{state, state, state, made, made, state, state}},
	}
	m := newMarketplace(t, workertest.Options{})
	t.Cleanup(func() { m.db.CheckBooks(t) })
	for _, test := range tests {
		for i, state := range bountyStates {
			t.Run(test.name+" "+state.name, func(t *testing.T) {
				t.Parallel()
				m := m.in(t)
				b := m.db.NewBounty(t, state.make)
				m.expect(test.call(m, b), test.want[i].status, test.want[i].code)
			})
		}
	}
}

// A blocked course stops what would bring its bounties forward, and nothing else.
func TestBlockedCourse(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	blocked := outcome{422, "course_blocked"}
	tests := map[string]struct {
		make storetest.NewBountyOptions
		call func(*marketplace, storetest.Bounty) answer
		want outcome
	}{
		"open": {storetest.NewBountyOptions{Funded: true},
			func(m *marketplace, b storetest.Bounty) answer { return m.open(b.Creator.Key, b.ID) }, blocked},
		"accept": {storetest.NewBountyOptions{Status: market.BountyOpen},
			func(m *marketplace, b storetest.Bounty) answer { return m.accept(b.Creator.Key, b.ID, b.Submission) }, blocked},
		"payout": {storetest.NewBountyOptions{Status: market.BountyAwarded},
			func(m *marketplace, b storetest.Bounty) answer { return m.pay(b.Creator.Key, b.ID) }, blocked},
		"create": {storetest.NewBountyOptions{},
			func(m *marketplace, b storetest.Bounty) answer { return m.create(b.Creator.Key, b.CourseID) }, blocked},
		"cancel still refunds": {storetest.NewBountyOptions{Status: market.BountyOpen},
			func(m *marketplace, b storetest.Bounty) answer { return m.cancel(b.Creator.Key, b.ID) }, outcome{200, ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			b := m.db.NewBounty(t, test.make)
			m.db.BlockCourse(t, b.CourseID)
			m.expect(test.call(m, b), test.want.status, test.want.code)
		})
	}
}

// create asks for a bounty; more are further fields of the body, in pairs.
func (m *marketplace) create(key string, course uuid.UUID, more ...any) answer {
	body := map[string]any{"course_id": course, "title": "Fix chapter 3", "description": "It does not compile.", "reward_amount_cents": 5000}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return m.send(http.MethodPost, "/v1/bounties", key, body)
}

func TestCreateBountyRefusals(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	creator, owner := m.agent(), m.agent()
	own := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: creator.ID})
	course := func(status market.CourseStatus, visibility market.Visibility) uuid.UUID {
		return m.db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID, Status: status, Visibility: visibility})
	}
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	tests := map[string]struct {
		course uuid.UUID
		more   []any
		want   outcome
	}{
		"on one's own draft course":      {own, nil, outcome{201, ""}},
		"on another's public course":     {course(market.CoursePublished, market.VisibilityPublic), nil, outcome{201, ""}},
		"on another's unlisted course":   {course(market.CoursePublished, market.VisibilityUnlisted), nil, outcome{201, ""}},
		"on another's private course":    {course(market.CoursePublished, market.VisibilityPrivate), nil, outcome{404, "course_not_found"}},
		"on another's draft":             {course(market.CourseDraft, market.VisibilityPublic), nil, outcome{404, "course_not_found"}},
		"on another's archived course":   {course(market.CourseArchived, market.VisibilityPublic), nil, outcome{404, "course_not_found"}},
		"on no course":                   {uuid.New(), nil, outcome{404, "course_not_found"}},
		"another currency":               {own, []any{"currency", "EUR"}, outcome{422, "currency_unsupported"}},
		"the currency spelt out":         {own, []any{"currency", "USD_CREDIT"}, outcome{201, ""}},
		"the least reward":               {own, []any{"reward_amount_cents", 100}, outcome{201, ""}},
		"a cent too little":              {own, []any{"reward_amount_cents", 99}, outcome{422, "reward_out_of_range"}},
		"no reward":                      {own, []any{"reward_amount_cents", 0}, outcome{422, "validation_error"}},
		"a negative reward":              {own, []any{"reward_amount_cents", -5000}, outcome{422, "validation_error"}},
		"the greatest reward":            {own, []any{"reward_amount_cents", int64(1e12)}, outcome{201, ""}},
		"a cent too much":                {own, []any{"reward_amount_cents", int64(1e12) + 1}, outcome{422, "validation_error"}},
		"a deadline in the past":         {own, []any{"submission_deadline", in(-time.Second)}, outcome{422, "submission_deadline_passed"}},
		"a deadline in the future":       {own, []any{"submission_deadline", in(time.Hour)}, outcome{201, ""}},
		"a deadline of null":             {own, []any{"submission_deadline", nil}, outcome{201, ""}},
		"a deadline that is no time":     {own, []any{"submission_deadline", "tomorrow"}, outcome{422, "validation_error"}},
		"a title of the wrong type":      {own, []any{"title", 5}, outcome{422, "validation_error"}},
		"a reward with a fraction":       {own, []any{"reward_amount_cents", 100.5}, outcome{422, "validation_error"}},
		"text that Postgres cannot hold": {own, []any{"title", "a\x00b"}, outcome{422, "validation_error"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			m.expect(m.create(creator.Key, test.course, test.more...), test.want.status, test.want.code)
		})
	}
}

func TestFundRefusals(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	tests := map[string]struct {
		make   storetest.NewBountyOptions
		before func(*testing.T, storetest.Bounty)
		want   outcome
	}{
		"enough credit": {storetest.NewBountyOptions{}, nil, outcome{200, ""}},
		"no credit":     {storetest.NewBountyOptions{WithoutCredit: true}, nil, outcome{422, "insufficient_credit"}},
		"a cent too little": {storetest.NewBountyOptions{WithoutCredit: true, RewardCents: 5000},
			func(t *testing.T, b storetest.Bounty) { m.db.Credit(t, b.Creator.ID, 4999) }, outcome{422, "insufficient_credit"}},
		"a frozen account": {storetest.NewBountyOptions{},
			func(t *testing.T, b storetest.Bounty) { m.db.Freeze(t, b.Creator.ID, true) }, outcome{422, "account_frozen"}},
		"after the deadline": {storetest.NewBountyOptions{},
			func(t *testing.T, b storetest.Bounty) { m.db.PassDeadline(t, b.ID) }, outcome{422, "submission_deadline_passed"}},
		"still on a blocked course": {storetest.NewBountyOptions{},
			func(t *testing.T, b storetest.Bounty) { m.db.BlockCourse(t, b.CourseID) }, outcome{200, ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			b := m.db.NewBounty(t, test.make)
			if test.before != nil {
				test.before(t, b)
			}
			before := m.db.Available(t, b.Creator.ID)
			m.expect(m.fund(b.Creator.Key, b.ID), test.want.status, test.want.code)
			if after := m.db.Available(t, b.Creator.ID); after != before && test.want.status != 200 {
				t.Errorf("refused, and yet %d cents moved", before-after)
			}
		})
	}
}

func TestFundedTwiceMovesMoneyOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{})
	m.db.Credit(t, b.Creator.ID, storetest.Reward)
	first, second := m.fund(b.Creator.Key, b.ID), m.fund(b.Creator.Key, b.ID)
	m.want(first, 200, "")
	if !bytes.Equal(first.body, second.body) || second.status != 200 {
		t.Errorf("the second answer is another:\n%s\n%s", first.body, second.body)
	}
	if got := m.db.Available(t, b.Creator.ID); got != storetest.Reward {
		t.Errorf("%d cents left, want %d", got, storetest.Reward)
	}
}

func TestOpenAfterTheDeadline(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Funded: true})
	m.db.PassDeadline(t, b.ID)
	m.expect(m.open(b.Creator.Key, b.ID), 422, "submission_deadline_passed")
}

func TestListBountiesByScope(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	draft := m.db.NewBounty(t, storetest.NewBountyOptions{})
	open := m.db.NewBounty(t, storetest.NewBountyOptions{Creator: draft.Creator, CourseID: draft.CourseID, Status: market.BountyOpen})
	closed := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyCancelled})
	tests := map[string]struct {
		scope, key string
		want       []uuid.UUID
	}{
		"open by default": {"", closed.Creator.Key, []uuid.UUID{open.ID}},
		"open":            {"?scope=open", closed.Creator.Key, []uuid.UUID{open.ID}},
		"mine":            {"?scope=mine", draft.Creator.Key, []uuid.UUID{open.ID, draft.ID}},
		"submitted":       {"?scope=submitted", closed.Submitter.Key, []uuid.UUID{closed.ID}},
		"nothing of mine": {"?scope=mine", open.Submitter.Key, []uuid.UUID{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			a := m.want(m.send(http.MethodGet, "/v1/bounties"+test.scope, test.key, nil), 200, "")
			got := decode[[]struct {
				ID              uuid.UUID `json:"id"`
				SubmissionCount int       `json:"submission_count"`
				CourseTitle     string    `json:"course_title"`
			}](t, a)
			if len(got) != len(test.want) {
				t.Fatalf("listed %d, want %d: %s", len(got), len(test.want), a.body)
			}
			for i, item := range got {
				submissions := 1
				if item.ID == draft.ID {
					submissions = 0
				}
				if item.ID != test.want[i] || item.CourseTitle == "" || item.SubmissionCount != submissions {
					t.Errorf("item %d is %+v", i, item)
				}
			}
		})
	}
	m.expect(m.send(http.MethodGet, "/v1/bounties?scope=mine", "", nil), 401, "missing_api_key")
}

func TestListBountiesPagesByLink(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	creator := m.agent()
	course := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: creator.ID})
	for range 5 {
		m.db.NewBounty(t, storetest.NewBountyOptions{Creator: creator, CourseID: course})
	}
	seen := map[uuid.UUID]bool{}
	path, pages := "/v1/bounties?scope=mine&limit=2", 0
	for path != "" {
		a := m.want(m.send(http.MethodGet, path, creator.Key, nil), 200, "")
		for _, item := range decode[[]struct{ ID uuid.UUID }](t, a) {
			seen[item.ID] = true
		}
		path = nextLink(t, a)
		pages++
	}
	if len(seen) != 5 || pages != 3 {
		t.Errorf("%d bounties on %d pages, want 5 on 3", len(seen), pages)
	}
}

func TestUpdateIsShownAndKept(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{})
	for _, accepts := range []bool{false, true} {
		m.want(m.update(b.Creator.Key, b.ID, accepts), 200, "")
		got := decode[map[string]any](t, m.send(http.MethodGet, "/v1/bounties/"+b.ID.String(), b.Creator.Key, nil))
		if got["accepts_codehost_prs"] != accepts || got["codehost_pr_enabled"] != false {
			t.Errorf("accepts %v, enabled %v, want %t and false: no code host", got["accepts_codehost_prs"], got["codehost_pr_enabled"], accepts)
		}
	}
	m.expect(m.send(http.MethodPatch, "/v1/bounties/"+b.ID.String(), b.Creator.Key, map[string]any{}), 422, "validation_error")
}
