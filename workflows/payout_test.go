package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/workflows"
)

// newEnvironment makes a quiet environment whose clock skips to the next timer.
func newEnvironment() *testsuite.TestWorkflowEnvironment {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return suite.NewTestWorkflowEnvironment()
}

func asApplication(err error, target **temporal.ApplicationError) bool { return errors.As(err, target) }

// scriptedPayout answers the activities of a Payout workflow.
type scriptedPayout struct {
	state       workflows.PayoutState
	suspended   bool
	settleError func(try int) error
	tries       int
	failed      []string
}

func newPayoutEnvironment(t *testing.T) (*testsuite.TestWorkflowEnvironment, *scriptedPayout) {
	t.Helper()
	env := newEnvironment()
	s := &scriptedPayout{state: workflows.PayoutState{Status: market.PayoutPending, MaxTries: 3}}
	register := func(name string, f any) { env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	register(workflows.ActivityBeginSettlement, func(context.Context, workflows.PayoutStep) (workflows.PayoutState, error) {
		s.state.Status = market.PayoutSubmitted
		if s.suspended {
			s.state.Status = market.PayoutHeld
		}
		return s.state, nil
	})
	register(workflows.ActivitySettlePayout, func(context.Context, workflows.PayoutStep) (workflows.PayoutState, error) {
		s.tries++
		if s.settleError != nil {
			if err := s.settleError(s.tries); err != nil {
				return s.state, err
			}
		}
		s.state.Status = market.PayoutSettled
		return s.state, nil
	})
	register(workflows.ActivityFailPayout, func(_ context.Context, step workflows.PayoutStep) (workflows.PayoutState, error) {
		s.failed = append(s.failed, step.FailureCode)
		s.state.Status, s.state.FailureCode = market.PayoutFailed, step.FailureCode
		return s.state, nil
	})
	register(workflows.ActivityRetryPayout, func(context.Context, workflows.PayoutStep) (workflows.PayoutState, error) {
		s.state.Status, s.state.FailureCode = market.PayoutSubmitted, ""
		return s.state, nil
	})
	register(workflows.ActivityAwaitRecipientActive, func(context.Context, uuid.UUID) error {
		if s.suspended {
			return temporal.NewApplicationErrorWithOptions("suspended", "recipient_suspended", temporal.ApplicationErrorOptions{NextRetryDelay: time.Minute})
		}
		return nil
	})
	return env, s
}

func refusal() error {
	return workflows.Fail(market.Refused("recipient_account_frozen", "Frozen."))
}

func TestPayoutFailsForGoodAndIsRetried(t *testing.T) {
	t.Parallel()
	env, s := newPayoutEnvironment(t)
	s.settleError = func(try int) error {
		if try == 1 {
			return refusal()
		}
		return nil
	}
	// Retry without arguments, as an operator sends it from the Temporal UI.
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.UpdateRetry, "retry-1", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(_ any, err error) {
				if err != nil {
					t.Error(err)
				}
			},
		})
	}, time.Hour)
	env.ExecuteWorkflow(workflows.Payout, workflows.PayoutInput{PayoutID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if s.tries != 2 || s.state.Status != market.PayoutSettled || len(s.failed) != 1 || s.failed[0] != "recipient_account_frozen" {
		t.Errorf("tries %d, failures %v, ended as %s", s.tries, s.failed, s.state.Status)
	}
}

func TestPayoutGivesUpAfterItsTries(t *testing.T) {
	t.Parallel()
	env, s := newPayoutEnvironment(t)
	s.settleError = func(try int) error {
		if try <= 3 {
			return errors.New("the database is away")
		}
		return nil
	}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.UpdateRetry, "retry-1", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {},
		}, workflows.RetryCommand{ActorAgentID: uuid.New()})
	}, time.Hour)
	env.ExecuteWorkflow(workflows.Payout, workflows.PayoutInput{PayoutID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if s.tries != 4 || len(s.failed) != 1 || s.failed[0] != "settlement_attempts_exhausted" {
		t.Errorf("tries %d, failures %v", s.tries, s.failed)
	}
}

func TestPayoutRetryIsRejectedUnlessFailed(t *testing.T) {
	t.Parallel()
	env, s := newPayoutEnvironment(t)
	s.suspended = true
	var rejected error
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.UpdateRetry, "too-early", &testsuite.TestUpdateCallback{
			OnAccept: func() { t.Error("accepted") }, OnReject: func(err error) { rejected = err }, OnComplete: func(any, error) {},
		}, workflows.RetryCommand{})
	}, time.Minute)
	env.RegisterDelayedCallback(func() { s.suspended = false }, 2*time.Minute)
	env.ExecuteWorkflow(workflows.Payout, workflows.PayoutInput{PayoutID: uuid.New()})
	if e, ok := workflows.DomainError(rejected); !ok || e.Code != "payout_not_failed" {
		t.Errorf("rejected with %v", rejected)
	}
	if s.state.Status != market.PayoutSettled {
		t.Errorf("ended as %s", s.state.Status)
	}
}

func TestHeldPayoutGoesOnWhenSignalled(t *testing.T) {
	t.Parallel()
	env, s := newPayoutEnvironment(t)
	s.suspended = true
	start := env.Now()
	env.RegisterDelayedCallback(func() {
		s.suspended = false
		env.SignalWorkflow(workflows.SignalRecheck, nil)
	}, 5*time.Second)
	env.ExecuteWorkflow(workflows.Payout, workflows.PayoutInput{PayoutID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if s.state.Status != market.PayoutSettled || s.tries != 1 {
		t.Errorf("tries %d, ended as %s", s.tries, s.state.Status)
	}
	if took := env.Now().Sub(start); took > 30*time.Second {
		t.Errorf("the signal did not wake it: %s", took)
	}
}

// Support can see in the database that a settlement failed before the workflow has
// heard of it: the retry waits for that instead of being turned away.
func TestPayoutRetryTakesItsTurnAfterTheSettlement(t *testing.T) {
	t.Parallel()
	env, s := newPayoutEnvironment(t)
	s.settleError = func(try int) error {
		if try == 1 {
			return refusal()
		}
		return nil
	}
	var answered error
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name != workflows.ActivityFailPayout {
			return
		}
		env.UpdateWorkflow(workflows.UpdateRetry, "at-once", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(_ any, err error) { answered = err },
		}, workflows.RetryCommand{})
	})
	env.ExecuteWorkflow(workflows.Payout, workflows.PayoutInput{PayoutID: uuid.New()})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if answered != nil || s.tries != 2 || s.state.Status != market.PayoutSettled {
		t.Errorf("retry answered %v, tries %d, ended as %s", answered, s.tries, s.state.Status)
	}
}
