package api_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

// race has n callers call at the same moment and counts their outcomes.
func race(n int, call func(i int) answer) map[outcome]int {
	start := make(chan struct{})
	answers := make([]answer, n)
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			answers[i] = call(i)
		})
	}
	close(start)
	done.Wait()
	counts := map[outcome]int{}
	for _, a := range answers {
		counts[outcome{a.status, a.code()}]++
	}
	return counts
}

// expectRace checks how often each outcome came.
func (m *marketplace) expectRace(got, want map[outcome]int) {
	m.t.Helper()
	if !maps.Equal(got, want) {
		m.t.Errorf("outcomes %v, want %v", got, want)
	}
}

const racers = 50

func TestFiftyFundAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{})
	m.db.Credit(t, b.Creator.ID, 10*storetest.Reward)
	m.expectRace(race(racers, func(int) answer { return m.fund(b.Creator.Key, b.ID) }), map[outcome]int{{200, ""}: racers})
	if got := m.db.Available(t, b.Creator.ID); got != 10*storetest.Reward {
		t.Errorf("%d cents left, want the reward taken once", got)
	}
	m.db.CheckBooks(t)
}

// Credit for one bounty, and fifty bounties that want it.
func TestFiftyBountiesWantTheSameCredit(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	creator := m.agent()
	course := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: creator.ID})
	m.db.Credit(t, creator.ID, 2*storetest.Reward-1)
	bounties := make([]uuid.UUID, racers)
	for i := range bounties {
		bounties[i] = m.db.NewBounty(t, storetest.NewBountyOptions{Creator: creator, CourseID: course, WithoutCredit: true}).ID
	}
	m.expectRace(race(racers, func(i int) answer { return m.fund(creator.Key, bounties[i]) }),
		map[outcome]int{{200, ""}: 1, {422, "insufficient_credit"}: racers - 1})
	if got := m.db.Available(t, creator.ID); got != storetest.Reward-1 {
		t.Errorf("%d cents left", got)
	}
	m.db.CheckBooks(t)
}

func TestFiftySubmissionsAreAcceptedAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	submissions := []uuid.UUID{b.Submission}
	for len(submissions) < racers {
		submissions = append(submissions, m.db.NewSubmission(t, b.ID, m.agent().ID))
	}
	m.expectRace(race(racers, func(i int) answer { return m.accept(b.Creator.Key, b.ID, submissions[i]) }),
		map[outcome]int{{200, ""}: 1, {422, "bounty_state_invalid"}: racers - 1})
	if accepted := m.count("SELECT count(*) FROM bounty_submissions WHERE bounty_id = $1 AND status = 'accepted'", b.ID); accepted != 1 {
		t.Errorf("%d submissions are accepted", accepted)
	}
	if left := m.count("SELECT count(*) FROM bounty_submissions WHERE bounty_id = $1 AND status = 'not_selected'", b.ID); left != racers-1 {
		t.Errorf("%d submissions are not selected", left)
	}
}

// Accepting, cancelling, withdrawing and rejecting at once: the bounty is awarded or
// cancelled, never both, and the escrow goes with it.
func TestAcceptAndCancelAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	calls := []func() answer{
		func() answer { return m.accept(b.Creator.Key, b.ID, b.Submission) },
		func() answer { return m.cancel(b.Creator.Key, b.ID) },
		func() answer { return m.reject(b.Creator.Key, b.ID, b.Submission) },
		func() answer { return m.withdraw(b.Submitter.Key, b.ID, b.Submission) },
	}
	got := race(racers, func(i int) answer { return calls[i%len(calls)]() })
	if unexpected := slices.DeleteFunc(slices.Collect(maps.Keys(got)), func(o outcome) bool {
		return slices.Contains([]outcome{{200, ""}, {422, "bounty_state_invalid"}, {422, "submission_not_live"}}, o)
	}); len(unexpected) > 0 {
		t.Errorf("outcomes %v", got)
	}
	escrowed := m.count("SELECT balance_cents FROM ledger_accounts WHERE owner_id = $1 AND kind = 'bounty.escrow'", b.ID)
	switch status := m.want(m.send(http.MethodGet, "/v1/bounties/"+b.ID.String(), b.Creator.Key, nil), 200, "").value("status"); status {
	case "awarded":
		if escrowed != storetest.Reward || m.db.Available(t, b.Creator.ID) != 0 {
			t.Errorf("awarded with %d cents in escrow", escrowed)
		}
	case "cancelled":
		if escrowed != 0 || m.db.Available(t, b.Creator.ID) != storetest.Reward {
			t.Errorf("cancelled with %d cents in escrow", escrowed)
		}
	default:
		t.Errorf("the bounty is %s", status)
	}
	m.db.CheckBooks(t)
}

// Funding, opening and cancelling at once leave the money in one place and the
// workflow in agreement with the database.
func TestFundOpenAndCancelAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{})
	calls := []func(string, uuid.UUID) answer{m.fund, m.open, m.cancel}
	got := race(racers, func(i int) answer { return calls[i%len(calls)](b.Creator.Key, b.ID) })
	for o := range got {
		if o.status != 200 && o != (outcome{422, "bounty_state_invalid"}) && o != (outcome{422, "bounty_not_funded"}) {
			t.Errorf("outcomes %v", got)
		}
	}
	m.awaitBounty(b.Creator.Key, b.ID, "cancelled")
	if got := m.db.Available(t, b.Creator.ID); got != storetest.Reward {
		t.Errorf("%d cents after the cancellation", got)
	}
	m.awaitListed(fmt.Sprintf("BountyId='%s' AND ExecutionStatus='Running'", b.ID))
	m.db.CheckBooks(t)
}

func TestFiftyAskForThePayoutAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
	var mu sync.Mutex
	ids := map[uuid.UUID]bool{}
	got := race(racers, func(int) answer {
		a := m.pay(b.Creator.Key, b.ID)
		if a.status == http.StatusCreated {
			mu.Lock()
			defer mu.Unlock()
			ids[uuid.MustParse(a.value("id"))] = true
		}
		return a
	})
	m.expectRace(got, map[outcome]int{{201, ""}: racers})
	if len(ids) != 1 {
		t.Errorf("%d payouts were answered", len(ids))
	}
	m.awaitBounty(b.Creator.Key, b.ID, "paid")
	if settlements := m.count("SELECT count(*) FROM ledger_transactions WHERE kind = 'payout'"); settlements != 1 {
		t.Errorf("%d settlements", settlements)
	}
	if got := m.db.Available(t, b.Submitter.ID); got != storetest.Reward*9/10 {
		t.Errorf("the recipient has %d cents", got)
	}
	m.db.CheckBooks(t)
}

func TestTwentyRetriesAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	b, p := m.failedPayout(support)
	m.unfreeze(support, b.Submitter.ID)
	got := race(20, func(int) answer { return m.retry(support, p.ID) })
	if got[outcome{200, ""}]+got[outcome{409, "payout_not_failed"}] != 20 || got[outcome{200, ""}] == 0 {
		t.Errorf("outcomes %v", got)
	}
	if settled := m.awaitPayout(support, p.ID, "settled"); settled.Attempts != 2 {
		t.Errorf("settled after %d attempts", settled.Attempts)
	}
	m.db.CheckBooks(t)
}

func TestTwentySubmissionsOfOneAgentAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	agent := m.agent()
	m.expectRace(race(20, func(int) answer { return m.submit(agent.Key, b.ID) }), map[outcome]int{{201, ""}: 1, {422, "submission_exists"}: 19})
}

// One Idempotency-Key: one bounty, whoever comes first. The others wait their turn and
// then get the same answer.
func TestTwentyCreatesWithOneKey(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true})
	creator := m.agent()
	course := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: creator.ID})
	body := map[string]any{"course_id": course, "title": "Once", "description": "d", "reward_amount_cents": 500}
	got := race(20, func(int) (a answer) {
		workertest.Eventually(t, func() error {
			a = m.send(http.MethodPost, "/v1/bounties", creator.Key, body, "Idempotency-Key", "the-one")
			if a.code() == "idempotency_key_in_progress" {
				return errors.New("the key is in use")
			}
			return nil
		})
		return a
	})
	m.expectRace(got, map[outcome]int{{201, ""}: 20})
	if made := m.count("SELECT count(*) FROM bounties"); made != 1 {
		t.Errorf("%d bounties were made", made)
	}
}
