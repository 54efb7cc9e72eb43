package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
	"github.com/course-marketplace/backend/workflows"
)

// payout is the record as support reads it.
type payout struct {
	ID          uuid.UUID  `json:"id"`
	Status      string     `json:"status"`
	AmountCents int64      `json:"amount_cents"`
	FeeCents    int64      `json:"marketplace_fee_cents"`
	NetCents    int64      `json:"seller_net_amount_cents"`
	Key         string     `json:"idempotency_key"`
	FailureCode *string    `json:"failure_code"`
	Attempts    int        `json:"attempts"`
	WorkflowID  string     `json:"workflow_id"`
	SubmittedAt *time.Time `json:"submitted_at"`
	SettledAt   *time.Time `json:"settled_at"`
}

func (m *marketplace) support() storetest.Agent {
	m.t.Helper()
	return m.db.NewAgent(m.t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}})
}

// awaitPayout waits until support sees the payout in a status.
func (m *marketplace) awaitPayout(support storetest.Agent, id uuid.UUID, status string) payout {
	m.t.Helper()
	var p payout
	workertest.Eventually(m.t, func() error {
		p = decode[payout](m.t, m.want(m.send(http.MethodGet, "/v1/admin/payouts/"+id.String(), support.Key, nil), 200, ""))
		if p.Status != status {
			return fmt.Errorf("the payout is %s, want %s", p.Status, status)
		}
		return nil
	})
	return p
}

// awaitBounty waits until the bounty's creator sees it in a status.
func (m *marketplace) awaitBounty(key string, id uuid.UUID, status string) {
	m.t.Helper()
	workertest.Eventually(m.t, func() error {
		if got := m.want(m.send(http.MethodGet, "/v1/bounties/"+id.String(), key, nil), 200, "").value("status"); got != status {
			return fmt.Errorf("the bounty is %s, want %s", got, status)
		}
		return nil
	})
}

// inbox lists the types of an agent's notifications, oldest first.
func (m *marketplace) inbox(key string) []string {
	m.t.Helper()
	a := m.want(m.send(http.MethodGet, "/v1/notifications?limit=100", key, nil), 200, "")
	list := decode[struct{ Items []struct{ Type string } }](m.t, a)
	var types []string
	for _, item := range slices.Backward(list.Items) {
		types = append(types, item.Type)
	}
	return types
}

// A bounty's whole life over HTTP, with what everybody is told and what everybody gets.
func TestLifeOfABounty(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	creator, winner, loser, support := m.agent(), m.agent(), m.agent(), m.support()
	m.want(m.send(http.MethodPost, "/v1/admin/credits/grants", support.Key, map[string]any{"agent_id": creator.ID, "amount_cents": 10_000, "reason": "welcome"}), 201, "")
	course := m.db.NewCourse(t, storetest.NewCourseOptions{Owner: creator.ID})
	bounty := uuid.MustParse(m.want(m.create(creator.Key, course, "reward_amount_cents", 2_509), 201, "").value("id"))

	m.want(m.fund(creator.Key, bounty), 200, "")
	m.want(m.open(creator.Key, bounty), 200, "")
	winning := uuid.MustParse(m.want(m.submit(winner.Key, bounty), 201, "").value("id"))
	m.want(m.submit(loser.Key, bounty), 201, "")
	m.want(m.accept(creator.Key, bounty, winning), 200, "")
	first := decode[payout](t, m.want(m.pay(creator.Key, bounty), 201, ""))
	settled := m.awaitPayout(support, first.ID, "settled")
	m.awaitBounty(creator.Key, bounty, "paid")

	// 10 % of 2,509 is 250.9: the fee is rounded down.
	if settled.AmountCents != 2_509 || settled.FeeCents != 250 || settled.NetCents != 2_259 {
		t.Errorf("paid %d as %d + %d", settled.AmountCents, settled.FeeCents, settled.NetCents)
	}
	if want := "bounty:" + bounty.String() + ":submission:" + winning.String(); settled.Key != want || settled.SubmittedAt == nil || settled.SettledAt == nil || settled.Attempts != 1 {
		t.Errorf("settled as %+v", settled)
	}
	if again := decode[payout](t, m.want(m.pay(creator.Key, bounty), 201, "")); again.ID != first.ID || again.Status != "settled" {
		t.Errorf("asked again: %+v", again)
	}
	if got := m.db.Available(t, creator.ID); got != 10_000-2_509 {
		t.Errorf("the creator has %d cents left", got)
	}
	if got := m.db.Available(t, winner.ID); got != 2_259 {
		t.Errorf("the winner has %d cents", got)
	}
	for _, test := range []struct {
		agent storetest.Agent
		want  []string
	}{
		{creator, []string{"bounty.funded", "bounty.submission_received", "bounty.submission_received", "payout.settled"}},
		{winner, []string{"bounty.submission_accepted", "payout.settled"}},
		{loser, []string{"bounty.submission_not_selected"}},
	} {
		if got := m.inbox(test.agent.Key); !slices.Equal(got, test.want) {
			t.Errorf("told %v, want %v", got, test.want)
		}
	}
	m.db.CheckBooks(t)
}

// Whatever ends a bounty without an award gives the money back and tells everybody.
func TestBountyEndsWithoutAward(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Grace: 200 * time.Millisecond})
	soon := func() *time.Time { at := time.Now().Add(1500 * time.Millisecond); return &at }
	tests := map[string]struct {
		deadline func() *time.Time
		end      func(*marketplace, storetest.Bounty)
		status   string
	}{
		"cancelled": {func() *time.Time { return nil }, func(m *marketplace, b storetest.Bounty) { m.want(m.cancel(b.Creator.Key, b.ID), 200, "") }, "cancelled"},
		"expired":   {soon, func(*marketplace, storetest.Bounty) {}, "expired"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			b := m.db.NewBounty(t, storetest.NewBountyOptions{Deadline: test.deadline()})
			m.want(m.fund(b.Creator.Key, b.ID), 200, "")
			m.want(m.open(b.Creator.Key, b.ID), 200, "")
			submitter := m.agent()
			m.want(m.submit(submitter.Key, b.ID), 201, "")
			test.end(m, b)
			m.awaitBounty(b.Creator.Key, b.ID, test.status)
			if got := m.db.Available(t, b.Creator.ID); got != storetest.Reward {
				t.Errorf("the creator has %d cents, want the reward back", got)
			}
			if got, want := m.inbox(b.Creator.Key), []string{"bounty.funded", "bounty.submission_received", "bounty." + test.status}; !slices.Equal(got, want) {
				t.Errorf("the creator was told %v, want %v", got, want)
			}
			if got, want := m.inbox(submitter.Key), []string{"bounty." + test.status}; !slices.Equal(got, want) {
				t.Errorf("the submitter was told %v, want %v", got, want)
			}
		})
	}
}

func TestPayoutIsHeldWhileTheRecipientIsSuspended(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	tests := map[string]struct {
		suspend, reactivate func(storetest.Agent)
	}{
		"the agent": {func(a storetest.Agent) { m.db.SuspendAgent(t, a.ID) }, func(a storetest.Agent) { m.db.ReactivateAgent(t, a.ID) }},
		"its user": {func(a storetest.Agent) { m.db.SuspendUser(t, a.UserID) }, func(a storetest.Agent) {
			if _, err := m.db.Pool().Exec(t.Context(), "UPDATE users SET status = 'active' WHERE id = $1", a.UserID); err != nil {
				t.Error(err)
			}
			m.db.ReactivateAgent(t, a.ID)
		}},
	}
	t.Cleanup(func() { m.db.CheckBooks(t) })
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
			test.suspend(b.Submitter)
			id := decode[payout](t, m.want(m.pay(b.Creator.Key, b.ID), 201, "")).ID
			m.awaitPayout(support, id, "held")
			if got := m.db.Available(t, b.Submitter.ID); got != 0 {
				t.Errorf("%d cents moved while held", got)
			}
			test.reactivate(b.Submitter)
			m.awaitPayout(support, id, "settled")
			if got, want := m.inbox(b.Submitter.Key), []string{"bounty.submission_accepted", "payout.held", "payout.settled"}; !slices.Equal(got, want) {
				t.Errorf("the recipient was told %v, want %v", got, want)
			}
		})
	}
}

// failedPayout is a payout that has failed because its recipient's account is frozen.
func (m *marketplace) failedPayout(support storetest.Agent) (storetest.Bounty, payout) {
	m.t.Helper()
	b := m.db.NewBounty(m.t, storetest.NewBountyOptions{Status: market.BountyAwarded})
	m.want(m.send(http.MethodPatch, "/v1/admin/agents/"+b.Submitter.ID.String()+"/credit-freeze", support.Key, nil), 200, "")
	id := decode[payout](m.t, m.want(m.pay(b.Creator.Key, b.ID), 201, "")).ID
	p := m.awaitPayout(support, id, "failed")
	if p.FailureCode == nil || *p.FailureCode != "recipient_account_frozen" {
		m.t.Errorf("failed with %+v", p)
	}
	return b, p
}

func (m *marketplace) unfreeze(support storetest.Agent, agent uuid.UUID) {
	m.t.Helper()
	m.want(m.send(http.MethodDelete, "/v1/admin/agents/"+agent.String()+"/credit-freeze", support.Key, nil), 200, "")
}

func (m *marketplace) retry(support storetest.Agent, id uuid.UUID) answer {
	return m.send(http.MethodPost, "/v1/admin/payouts/"+id.String()+"/retry", support.Key, nil)
}

func TestFailedPayoutIsRetried(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	retries := map[string]func(*marketplace, uuid.UUID){
		"over REST": func(m *marketplace, id uuid.UUID) { m.want(m.retry(support, id), 200, "") },
		"by the update that the Temporal UI sends, without arguments": func(m *marketplace, id uuid.UUID) {
			handle, err := m.temporal.Client.UpdateWorkflow(m.t.Context(), client.UpdateWorkflowOptions{
				WorkflowID: workflows.PayoutWorkflowID(id), UpdateName: workflows.UpdateRetry, WaitForStage: client.WorkflowUpdateStageCompleted})
			if err != nil {
				m.t.Fatal(err)
			}
			if err := handle.Get(m.t.Context(), nil); err != nil {
				m.t.Fatal(err)
			}
		},
	}
	t.Cleanup(func() { m.db.CheckBooks(t) })
	for name, retry := range retries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := m.in(t)
			b, p := m.failedPayout(support)
			if got := m.db.Available(t, b.Submitter.ID); got != 0 {
				t.Errorf("%d cents moved by a settlement that failed", got)
			}
			// Retried too early it fails again, and can be retried again.
			retry(m, p.ID)
			workertest.Eventually(t, func() error {
				if p = m.awaitPayout(support, p.ID, "failed"); p.Attempts < 2 {
					return fmt.Errorf("%d attempts", p.Attempts)
				}
				return nil
			})
			m.unfreeze(support, b.Submitter.ID)
			retry(m, p.ID)
			settled := m.awaitPayout(support, p.ID, "settled")
			if settled.FailureCode != nil || settled.Attempts != 3 {
				t.Errorf("settled as %+v", settled)
			}
			m.awaitBounty(b.Creator.Key, b.ID, "paid")
			if got := m.inbox(b.Submitter.Key); !slices.Equal(got, []string{"bounty.submission_accepted", "payout.failed", "payout.failed", "payout.settled"}) {
				t.Errorf("the recipient was told %v", got)
			}
			m.expect(m.retry(support, p.ID), 409, "payout_not_failed")
		})
	}
}

func TestRetryRefusals(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	m.expect(m.retry(support, uuid.New()), 404, "payout_not_found")
	b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
	m.db.SuspendAgent(t, b.Submitter.ID)
	id := decode[payout](t, m.want(m.pay(b.Creator.Key, b.ID), 201, "")).ID
	m.awaitPayout(support, id, "held")
	m.expect(m.retry(support, id), 409, "payout_not_failed")
}

// A failed payout whose workflow is gone (terminated by an operator, or past the
// server's retention) is still retried: the database is the truth.
func TestRetryOfAPayoutWithoutItsWorkflow(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	b, p := m.failedPayout(support)
	if err := m.temporal.Client.TerminateWorkflow(t.Context(), p.WorkflowID, "", "by a test"); err != nil {
		t.Fatal(err)
	}
	m.unfreeze(support, b.Submitter.ID)
	m.want(m.retry(support, p.ID), 200, "")
	m.awaitPayout(support, p.ID, "settled")
	var ended workflows.BountyState
	if err := m.temporal.Client.GetWorkflow(t.Context(), workflows.BountyWorkflowID(b.ID), "").Get(t.Context(), &ended); err != nil || ended.Status != market.BountyPaid {
		t.Errorf("the bounty's workflow ended as %+v, %v", ended, err)
	}
	m.db.CheckBooks(t)
}

func TestSupportListsPayoutsByStatus(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	_, failed := m.failedPayout(support)
	m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyPaid})
	for status, want := range map[string]int{"": 2, "?status=failed": 1, "?status=settled": 1, "?status=held": 0} {
		list := decode[struct{ Items []payout }](t, m.want(m.send(http.MethodGet, "/v1/admin/payouts"+status, support.Key, nil), 200, ""))
		if len(list.Items) != want {
			t.Errorf("%q lists %d, want %d", status, len(list.Items), want)
		}
		if status == "?status=failed" && list.Items[0].ID != failed.ID {
			t.Errorf("the failed one is %+v", list.Items[0])
		}
	}
	if a := m.send(http.MethodGet, "/v1/admin/payouts?status=lost", support.Key, nil); a.status != 422 || a.code() != "validation_error" {
		t.Errorf("an unknown status is answered %d %s", a.status, a.body)
	}
}

// In Temporal's list an operator finds the failed payouts, why they failed and whose they are.
func TestOperatorsFindFailedPayouts(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	support := m.support()
	b, p := m.failedPayout(support)
	query := fmt.Sprintf("MarketplaceStatus='failed' AND FailureReason='recipient_account_frozen' AND AgentId='%s'", b.Submitter.ID)
	m.awaitListed(query, p.WorkflowID)
	m.awaitListed(fmt.Sprintf("BountyId='%s' AND CourseId='%s' AND MarketplaceStatus='awarded'", b.ID, b.CourseID), workflows.BountyWorkflowID(b.ID))

	described, err := m.temporal.Client.DescribeWorkflow(t.Context(), p.WorkflowID, "")
	if err != nil {
		t.Fatal(err)
	}
	if summary, err := described.GetStaticSummary(); err != nil || !strings.Contains(summary, "50.00 USD_CREDIT") {
		t.Errorf("the payout's summary is %q, %v", summary, err)
	}
	described, err = m.temporal.Client.DescribeWorkflow(t.Context(), workflows.BountyWorkflowID(b.ID), "")
	if err != nil {
		t.Fatal(err)
	}
	if summary, err := described.GetStaticSummary(); err != nil || !strings.Contains(summary, "Fix chapter 3") {
		t.Errorf("the bounty's summary is %q, %v", summary, err)
	}

	m.unfreeze(support, b.Submitter.ID)
	m.want(m.retry(support, p.ID), 200, "")
	m.awaitPayout(support, p.ID, "settled")
	m.awaitListed(fmt.Sprintf("MarketplaceStatus='settled' AND AgentId='%s'", b.Submitter.ID), p.WorkflowID)
	m.awaitListed(query)
}

// awaitListed waits until Temporal's list holds exactly the given workflows.
func (m *marketplace) awaitListed(query string, want ...string) {
	m.t.Helper()
	workertest.Eventually(m.t, func() error {
		list, err := m.temporal.Client.ListWorkflow(m.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err != nil {
			return err
		}
		var got []string
		for _, execution := range list.Executions {
			got = append(got, execution.Execution.WorkflowId)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s lists %v, want %v", query, got, want)
		}
		return nil
	})
}
