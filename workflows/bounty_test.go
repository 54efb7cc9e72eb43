package workflows_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/workflows"
)

// scriptedBounty answers the activities of a Bounty workflow with the rules of the
// domain, so that a test sees what the workflow makes of them. The real transactions
// are tested with the store, and together with the workflow in package worker.
type scriptedBounty struct {
	state    workflows.BountyState
	deadline *time.Time
	grace    time.Duration
	now      func() time.Time
	mu       sync.Mutex
	keys     []string
}

func (s *scriptedBounty) rules() market.BountyState {
	return market.BountyState{Status: s.state.Status, Funding: s.state.FundingStatus, Deadline: s.deadline, CourseState: market.CourseDraft}
}

func (s *scriptedBounty) step(check func() error, change func()) func(context.Context, workflows.BountyStep) (workflows.BountyState, error) {
	return func(_ context.Context, step workflows.BountyStep) (workflows.BountyState, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys = append(s.keys, step.RequestKey)
		if err := check(); err != nil {
			e, _ := market.AsError(err)
			return workflows.BountyState{}, workflows.Fail(e)
		}
		change()
		return s.state, nil
	}
}

func newBountyEnvironment(t *testing.T, deadline *time.Time, grace time.Duration) (*testsuite.TestWorkflowEnvironment, *scriptedBounty) {
	t.Helper()
	env := newEnvironment()
	env.RegisterWorkflow(workflows.Bounty)
	env.RegisterWorkflow(workflows.Payout)
	s := &scriptedBounty{deadline: deadline, grace: grace, now: env.Now,
		state: workflows.BountyState{Status: market.BountyDraft, FundingStatus: market.FundingUnfunded}}
	if deadline != nil {
		expires := deadline.Add(grace)
		s.state.ExpiresAt = &expires
	}
	always := func() error { return nil }
	register := func(name string, check func() error, change func()) {
		env.RegisterActivityWithOptions(s.step(check, change), activity.RegisterOptions{Name: name})
	}
	register(workflows.ActivityLoadBounty, always, func() {})
	register(workflows.ActivityFundBounty, func() error { return s.rules().CheckFund(s.now()) }, func() { s.state.FundingStatus = market.FundingFunded })
	register(workflows.ActivityOpenBounty, func() error { return s.rules().CheckOpen(s.now()) }, func() { s.state.Status = market.BountyOpen })
	register(workflows.ActivityCancelBounty, func() error { return s.rules().CheckCancel() }, func() {
		s.state.Status, s.state.FundingStatus = market.BountyCancelled, market.FundingRefunded
	})
	register(workflows.ActivityAcceptSubmission, func() error { return s.rules().CheckAccept(market.SubmissionSubmitted) }, func() { s.state.Status = market.BountyAwarded })
	register(workflows.ActivityExpireBounty, func() error { return s.rules().CheckExpire(s.now(), s.grace) }, func() {
		s.state.Status, s.state.FundingStatus = market.BountyExpired, market.FundingRefunded
	})
	register(workflows.ActivityCreatePayout, func() error { return s.rules().CheckPayout() }, func() {
		s.state.Payout = &workflows.PayoutInput{PayoutID: uuid.New(), RecipientAgentID: uuid.New(), AmountCents: 5000, Currency: market.Currency}
	})
	return env, s
}

// updates collects what the updates of a test answered.
type updates struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment
	err map[string]error
}

func (u *updates) after(delay time.Duration, id, name string) {
	u.env.RegisterDelayedCallback(func() {
		u.env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
			OnAccept:   func() {},
			OnReject:   func(err error) { u.err[id] = err },
			OnComplete: func(_ any, err error) { u.err[id] = err },
		}, workflows.BountyCommand{ActorAgentID: uuid.New()})
	}, delay)
}

func newUpdates(t *testing.T, env *testsuite.TestWorkflowEnvironment) *updates {
	t.Helper()
	return &updates{t: t, env: env, err: map[string]error{}}
}

func (u *updates) expect(id, code string) {
	u.t.Helper()
	err, answered := u.err[id]
	if !answered {
		u.t.Fatalf("update %s was not answered", id)
	}
	if code == "" {
		if err != nil {
			u.t.Errorf("update %s: %v", id, err)
		}
		return
	}
	e, ok := workflows.DomainError(err)
	if !ok || e.Code != code {
		u.t.Errorf("update %s: got %v, want code %s", id, err, code)
	}
}

func TestBountyExpiresAfterDeadlineAndGrace(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	deadline := start.Add(30 * 24 * time.Hour)
	env, s := newBountyEnvironment(t, &deadline, 14*24*time.Hour)
	env.SetStartTime(start)
	u := newUpdates(t, env)
	u.after(0, "fund-1", workflows.UpdateFund)
	u.after(time.Minute, "open-1", workflows.UpdateOpen)
	env.ExecuteWorkflow(workflows.Bounty, workflows.BountyInput{BountyID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	u.expect("fund-1", "")
	u.expect("open-1", "")
	if s.state.Status != market.BountyExpired || s.state.FundingStatus != market.FundingRefunded {
		t.Errorf("ended as %+v", s.state)
	}
	if took := env.Now().Sub(start); took < 44*24*time.Hour || took > 45*24*time.Hour {
		t.Errorf("expired after %s, want 44 days", took)
	}
}

func TestBountyCancelledBeforeDeadline(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	deadline := start.Add(time.Hour)
	env, s := newBountyEnvironment(t, &deadline, time.Hour)
	env.SetStartTime(start)
	u := newUpdates(t, env)
	u.after(0, "fund-1", workflows.UpdateFund)
	u.after(time.Minute, "cancel-1", workflows.UpdateCancel)
	env.ExecuteWorkflow(workflows.Bounty, workflows.BountyInput{BountyID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	u.expect("cancel-1", "")
	if s.state.Status != market.BountyCancelled {
		t.Errorf("ended as %s", s.state.Status)
	}
	if took := env.Now().Sub(start); took > 10*time.Minute {
		t.Errorf("went on for %s after the cancellation", took)
	}
}

func TestBountyRefusalsReachTheCaller(t *testing.T) {
	t.Parallel()
	env, s := newBountyEnvironment(t, nil, 0)
	u := newUpdates(t, env)
	u.after(0, "open-unfunded", workflows.UpdateOpen)
	u.after(time.Second, "pay-early", workflows.UpdatePay)
	u.after(2*time.Second, "cancel", workflows.UpdateCancel)
	env.ExecuteWorkflow(workflows.Bounty, workflows.BountyInput{BountyID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	u.expect("open-unfunded", "bounty_not_funded")
	u.expect("pay-early", "bounty_state_invalid")
	u.expect("cancel", "")
	if !slices.Contains(s.keys, "open-unfunded") {
		t.Errorf("the update's id is not the request key: %v", s.keys)
	}
}

func TestBountyWithoutActorIsRejected(t *testing.T) {
	t.Parallel()
	env, _ := newBountyEnvironment(t, nil, 0)
	var rejected error
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.UpdateFund, "anonymous", &testsuite.TestUpdateCallback{
			OnAccept: func() { t.Error("accepted") }, OnReject: func(err error) { rejected = err }, OnComplete: func(any, error) {},
		}, workflows.BountyCommand{})
	}, 0)
	u := newUpdates(t, env)
	u.after(time.Second, "cancel", workflows.UpdateCancel)
	env.ExecuteWorkflow(workflows.Bounty, workflows.BountyInput{BountyID: uuid.New()})
	if e, ok := workflows.DomainError(rejected); !ok || e.Code != "actor_missing" {
		t.Errorf("rejected with %v", rejected)
	}
}

func TestBountyWaitsForItsPayout(t *testing.T) {
	t.Parallel()
	env, s := newBountyEnvironment(t, nil, 0)
	settled := false
	env.RegisterActivityWithOptions(func(context.Context, workflows.PayoutStep) (workflows.PayoutState, error) {
		return workflows.PayoutState{Status: market.PayoutSubmitted, Attempts: 1, MaxTries: 3}, nil
	}, activity.RegisterOptions{Name: workflows.ActivityBeginSettlement})
	env.RegisterActivityWithOptions(func(context.Context, workflows.PayoutStep) (workflows.PayoutState, error) {
		settled, s.state.Status, s.state.FundingStatus = true, market.BountyPaid, market.FundingReleased
		return workflows.PayoutState{Status: market.PayoutSettled, Attempts: 1}, nil
	}, activity.RegisterOptions{Name: workflows.ActivitySettlePayout})
	u := newUpdates(t, env)
	for i, name := range []string{workflows.UpdateFund, workflows.UpdateOpen, workflows.UpdateAccept, workflows.UpdatePay} {
		u.after(time.Duration(i)*time.Second, name, name)
	}
	env.ExecuteWorkflow(workflows.Bounty, workflows.BountyInput{BountyID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var state workflows.BountyState
	if err := env.GetWorkflowResult(&state); err != nil {
		t.Fatal(err)
	}
	if !settled || state.Status != market.BountyPaid {
		t.Errorf("settled %v, ended as %s", settled, state.Status)
	}
}

func TestDomainErrorSurvivesTemporal(t *testing.T) {
	t.Parallel()
	sent := market.Refused("insufficient_credit", "Too little.").With("available_cents", 5)
	got, ok := workflows.DomainError(workflows.Fail(sent))
	if !ok || got.Code != sent.Code || got.Kind != sent.Kind || got.Detail != sent.Detail {
		t.Fatalf("got %+v", got)
	}
	var application *temporal.ApplicationError
	if err := workflows.Fail(sent); !asApplication(err, &application) || !application.NonRetryable() {
		t.Error("a refusal must not be retried")
	}
	outage := market.Unavailable("database_unavailable", time.Second, "Later.")
	if err := workflows.Fail(outage); !asApplication(err, &application) || application.NonRetryable() {
		t.Error("an outage must be retried")
	}
}
