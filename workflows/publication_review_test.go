package workflows_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/workflows"
)

// scriptedReview answers the activities of a PublicationReview workflow with the rules
// of the domain. The real transactions are tested with the store.
type scriptedReview struct {
	mu      sync.Mutex
	status  market.ReviewStatus
	blocked bool
	// scan is what a layer does at its nth try, from 1.
	scan func(layer string, try int) error
	// noMainFile has the scan's conclusion reject the version.
	noMainFile bool
	tries      map[string]int
	ran        []string
	failure    string
	keys       []string
}

func newReviewEnvironment(t *testing.T) (*testsuite.TestWorkflowEnvironment, *scriptedReview) {
	t.Helper()
	env := newEnvironment()
	s := &scriptedReview{tries: map[string]int{}}
	for name, change := range map[string]func(workflows.ReviewStep) error{
		workflows.ActivityRequestReview: func(workflows.ReviewStep) error { return s.request() },
		workflows.ActivityQueueAccepted: func(workflows.ReviewStep) error { return s.request() },
		workflows.ActivityBeginScan:     func(workflows.ReviewStep) error { s.move(market.ReviewQueued, market.ReviewScanning); return nil },
		workflows.ActivityConcludeScan: func(workflows.ReviewStep) error {
			s.move(market.ReviewScanning, market.ReviewHumanReview)
			if s.noMainFile {
				s.move(market.ReviewHumanReview, market.ReviewRejected)
			}
			return nil
		},
		workflows.ActivityFailReview: func(step workflows.ReviewStep) error {
			s.failure = step.FailureCode
			s.move(market.ReviewScanning, market.ReviewFailed)
			return nil
		},
		workflows.ActivityApproveReview: func(step workflows.ReviewStep) error { return s.decide(step, market.ReviewApproved) },
		workflows.ActivityRejectReview:  func(step workflows.ReviewStep) error { return s.decide(step, market.ReviewRejected) },
	} {
		env.RegisterActivityWithOptions(s.step(change), activity.RegisterOptions{Name: name})
	}
	env.RegisterActivityWithOptions(s.scanLayer, activity.RegisterOptions{Name: workflows.ActivityScanLayer})
	return env, s
}

func (s *scriptedReview) step(change func(workflows.ReviewStep) error) func(context.Context, workflows.ReviewStep) (workflows.ReviewState, error) {
	return func(_ context.Context, step workflows.ReviewStep) (workflows.ReviewState, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := change(step); err != nil {
			return workflows.ReviewState{}, err
		}
		return workflows.ReviewState{Status: s.status, Layers: []string{"static", "secrets"}}, nil
	}
}

func (s *scriptedReview) request() error {
	if s.blocked {
		return workflows.Fail(market.Conflict("course_blocked", "Blocked."))
	}
	s.status = market.ReviewQueued
	return nil
}

// move makes a transition, unless the course is blocked: that cancels the review.
func (s *scriptedReview) move(from, to market.ReviewStatus) {
	switch {
	case s.status.Final():
	case s.blocked:
		s.status = market.ReviewCancelled
	case s.status == from:
		s.status = to
	}
}

func (s *scriptedReview) decide(step workflows.ReviewStep, to market.ReviewStatus) error {
	s.keys = append(s.keys, step.RequestKey)
	if s.status != market.ReviewHumanReview {
		return workflows.Fail(market.Conflict("review_not_pending", "The review is %s.", s.status))
	}
	s.move(market.ReviewHumanReview, to)
	return nil
}

func (s *scriptedReview) scanLayer(_ context.Context, scan workflows.LayerScan) (workflows.LayerOutcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[scan.Layer]++
	if s.scan != nil {
		if err := s.scan(scan.Layer, s.tries[scan.Layer]); err != nil {
			return workflows.LayerOutcome{}, err
		}
	}
	s.ran = append(s.ran, scan.Layer)
	return workflows.LayerOutcome{Layer: scan.Layer, Status: "clean"}, nil
}

// reviewUpdates collects what the updates of a test answered.
type reviewUpdates struct{ *updates }

func newReviewUpdates(t *testing.T, env *testsuite.TestWorkflowEnvironment) reviewUpdates {
	t.Helper()
	return reviewUpdates{newUpdates(t, env)}
}

func (u reviewUpdates) send(id, name string, arg any) {
	u.env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { u.err[id] = err }, OnComplete: func(_ any, err error) { u.err[id] = err },
	}, arg)
}

func (u reviewUpdates) requestAt(delay time.Duration) {
	u.env.RegisterDelayedCallback(func() {
		u.send("request", workflows.UpdateRequest, workflows.ReviewRequest{ActorAgentID: uuid.New()})
	}, delay)
}

func (u reviewUpdates) decideAt(delay time.Duration, id, name string) {
	u.env.RegisterDelayedCallback(func() {
		u.send(id, name, workflows.ReviewDecision{ReviewerAgentID: uuid.New(), ReviewerUserID: uuid.New()})
	}, delay)
}

// runReview runs the workflow to its end and returns the state it ended with.
func runReview(t *testing.T, env *testsuite.TestWorkflowEnvironment, in workflows.ReviewInput) workflows.ReviewState {
	t.Helper()
	in.ReviewID, in.CourseID = uuid.New(), uuid.New()
	env.ExecuteWorkflow(workflows.PublicationReview, in)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var state workflows.ReviewState
	if err := env.GetWorkflowResult(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestReviewWaitsForItsReviewer(t *testing.T) {
	t.Parallel()
	env, s := newReviewEnvironment(t)
	u := newReviewUpdates(t, env)
	start := env.Now()
	u.requestAt(0)
	u.decideAt(60*24*time.Hour, "approve-1", workflows.UpdateApprove)
	if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewApproved {
		t.Errorf("ended as %s", state.Status)
	}
	u.expect("request", "")
	u.expect("approve-1", "")
	if waited := env.Now().Sub(start); waited < 60*24*time.Hour {
		t.Errorf("waited for %s", waited)
	}
	if last := s.ran[len(s.ran)-1]; last != workflows.CapabilitiesLayer || len(s.ran) != 3 {
		t.Errorf("the layers ran as %v", s.ran)
	}
	if !slices.Equal(s.keys, []string{"approve-1"}) {
		t.Errorf("the update's id is not the request key: %v", s.keys)
	}
}

func TestLayerThatKeepsFailingFailsTheReview(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err     error
		tries   int
		failure string
	}{
		"an outage":      {workflows.Fail(market.Unavailable("storage_unavailable", time.Second, "Away.")), 5, "storage_unavailable"},
		"a defect":       {errors.New("cannot encode"), 5, "scan_failed"},
		"crash on crash": {temporal.NewHeartbeatTimeoutError(), 5, "scan_failed"},
		"for good":       {workflows.Fail(market.Conflict("digest_mismatch", "Changed.")), 1, "digest_mismatch"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, s := newReviewEnvironment(t)
			s.scan = func(layer string, _ int) error {
				if layer == "secrets" {
					return test.err
				}
				return nil
			}
			newReviewUpdates(t, env).requestAt(0)
			if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewFailed {
				t.Errorf("ended as %s", state.Status)
			}
			if s.tries["secrets"] != test.tries || s.failure != test.failure || s.tries[workflows.CapabilitiesLayer] != 0 {
				t.Errorf("tries %v, failed with %s", s.tries, s.failure)
			}
		})
	}
}

func TestLayerIsTriedAgainAfterACrash(t *testing.T) {
	t.Parallel()
	env, s := newReviewEnvironment(t)
	s.scan = func(_ string, try int) error {
		if try == 1 {
			return temporal.NewHeartbeatTimeoutError()
		}
		return nil
	}
	u := newReviewUpdates(t, env)
	u.requestAt(0)
	u.decideAt(time.Hour, "reject-1", workflows.UpdateReject)
	if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewRejected {
		t.Errorf("ended as %s", state.Status)
	}
	u.expect("reject-1", "")
	if diff := cmp.Diff(map[string]int{"static": 2, "secrets": 2, workflows.CapabilitiesLayer: 2}, s.tries); diff != "" {
		t.Errorf("tries (-want +got):\n%s", diff)
	}
}

func TestDecisionBeforeTheScanEndsIsRejected(t *testing.T) {
	t.Parallel()
	env, s := newReviewEnvironment(t)
	s.scan = func(_ string, try int) error {
		if try == 1 { // so that the scan takes a second
			return errors.New("not yet")
		}
		return nil
	}
	u := newReviewUpdates(t, env)
	u.requestAt(0)
	u.decideAt(500*time.Millisecond, "approve-early", workflows.UpdateApprove)
	u.decideAt(500*time.Millisecond, "reject-early", workflows.UpdateReject)
	u.decideAt(time.Hour, "approve-1", workflows.UpdateApprove)
	if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewApproved {
		t.Errorf("ended as %s", state.Status)
	}
	u.expect("approve-early", "review_not_pending")
	u.expect("reject-early", "review_not_pending")
	u.expect("approve-1", "")
}

func TestDecisionSaysWhoDecides(t *testing.T) {
	t.Parallel()
	env, s := newReviewEnvironment(t)
	u := newReviewUpdates(t, env)
	u.requestAt(0)
	for id, d := range map[string]workflows.ReviewDecision{
		"nobody": {}, "no user": {ReviewerAgentID: uuid.New()}, "no agent": {ReviewerUserID: uuid.New()},
	} {
		env.RegisterDelayedCallback(func() { u.send(id, workflows.UpdateApprove, d) }, time.Minute)
	}
	u.decideAt(time.Hour, "reject-1", workflows.UpdateReject)
	runReview(t, env, workflows.ReviewInput{})
	for _, id := range []string{"nobody", "no user", "no agent"} {
		u.expect(id, "actor_missing")
	}
	if !slices.Equal(s.keys, []string{"reject-1"}) {
		t.Errorf("decided %v", s.keys)
	}
}

// Two decisions that both arrive while the first is being recorded: one is made.
func TestSecondDecisionIsRefused(t *testing.T) {
	t.Parallel()
	env, _ := newReviewEnvironment(t)
	u := newReviewUpdates(t, env)
	u.requestAt(0)
	env.RegisterDelayedCallback(func() {
		decision := workflows.ReviewDecision{ReviewerAgentID: uuid.New(), ReviewerUserID: uuid.New()}
		u.send("approve-1", workflows.UpdateApprove, decision)
		u.send("reject-1", workflows.UpdateReject, decision)
	}, time.Hour)
	if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewApproved {
		t.Errorf("ended as %s", state.Status)
	}
	u.expect("approve-1", "")
	u.expect("reject-1", "review_not_pending")
}

func TestVersionWithoutMainFileNeedsNoReviewer(t *testing.T) {
	t.Parallel()
	env, s := newReviewEnvironment(t)
	s.noMainFile = true
	newReviewUpdates(t, env).requestAt(0)
	if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewRejected {
		t.Errorf("ended as %s", state.Status)
	}
}

func TestBlockedCourseEndsTheReview(t *testing.T) {
	t.Parallel()
	t.Run("while it is scanned", func(t *testing.T) {
		t.Parallel()
		env, s := newReviewEnvironment(t)
		s.scan = func(string, int) error { s.blocked = true; return nil }
		newReviewUpdates(t, env).requestAt(0)
		if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewCancelled {
			t.Errorf("ended as %s", state.Status)
		}
	})
	t.Run("while it waits", func(t *testing.T) {
		t.Parallel()
		env, s := newReviewEnvironment(t)
		u := newReviewUpdates(t, env)
		u.requestAt(0)
		env.RegisterDelayedCallback(func() { s.blocked = true }, time.Minute)
		u.decideAt(time.Hour, "approve-1", workflows.UpdateApprove)
		if state := runReview(t, env, workflows.ReviewInput{}); state.Status != market.ReviewCancelled {
			t.Errorf("ended as %s", state.Status)
		}
		u.expect("approve-1", "course_blocked")
	})
	t.Run("before it was asked for", func(t *testing.T) {
		t.Parallel()
		env, s := newReviewEnvironment(t)
		s.blocked = true
		u := newReviewUpdates(t, env)
		u.requestAt(0)
		if state := runReview(t, env, workflows.ReviewInput{}); state.Status != "" {
			t.Errorf("ended as %s", state.Status)
		}
		u.expect("request", "course_blocked")
	})
}

// A version that a bounty's creator has accepted queues itself.
func TestAcceptedVersionIsReviewed(t *testing.T) {
	t.Parallel()
	env, _ := newReviewEnvironment(t)
	u := newReviewUpdates(t, env)
	u.decideAt(time.Hour, "approve-1", workflows.UpdateApprove)
	if state := runReview(t, env, workflows.ReviewInput{AcceptedIn: uuid.New()}); state.Status != market.ReviewApproved {
		t.Errorf("ended as %s", state.Status)
	}
	env, s := newReviewEnvironment(t)
	s.blocked = true
	if state := runReview(t, env, workflows.ReviewInput{AcceptedIn: uuid.New()}); state.Status != "" {
		t.Errorf("a blocked course's ended as %s", state.Status)
	}
}

// A run that was lost is begun anew by the decision; the database knows how it stands.
func TestDecisionBeginsALostRunAnew(t *testing.T) {
	t.Parallel()
	for from, code := range map[market.ReviewStatus]string{market.ReviewHumanReview: "", market.ReviewApproved: "review_not_pending"} {
		env, s := newReviewEnvironment(t)
		s.status = from
		u := newReviewUpdates(t, env)
		u.decideAt(0, "approve-1", workflows.UpdateApprove)
		runReview(t, env, workflows.ReviewInput{})
		u.expect("approve-1", code)
		if s.status != market.ReviewApproved || len(s.ran) > 0 {
			t.Errorf("from %s to %s, scanned %v", from, s.status, s.ran)
		}
	}
}
