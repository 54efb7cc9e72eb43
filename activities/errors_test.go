package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/course-marketplace/backend/activities"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/workflows"
)

// What Temporal makes of an activity's error: a refusal of the domain is final, an
// outage and what only has to be waited for come again.
func TestErrorsByKind(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	bounties := &activities.Bounties{Store: db.Store, Grace: time.Hour}
	payouts := &activities.Payouts{Store: db.Store, Recheck: 7 * time.Minute, MaxTries: 3}
	open := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	due := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyOpen})
	db.PassDeadline(t, due.ID) // and the grace has not passed
	awarded := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
	state, err := bounties.CreatePayout(t.Context(), workflows.BountyStep{BountyID: awarded.ID, ActorAgentID: awarded.Creator.ID})
	if err != nil {
		t.Fatal(err)
	}
	db.SuspendAgent(t, awarded.Submitter.ID)
	payout := state.Payout.PayoutID
	closed := storetest.New(t)
	closed.Close()
	away := &activities.Bounties{Store: closed.Store}
	step := func(b storetest.Bounty) workflows.BountyStep {
		return workflows.BountyStep{BountyID: b.ID, ActorAgentID: b.Creator.ID}
	}
	tests := map[string]struct {
		run   func() error
		code  string // the application error's type, "" for an error that is none
		final bool
		next  time.Duration
	}{
		"opened twice": {func() error { _, err := bounties.OpenBounty(t.Context(), step(open)); return err }, "bounty_state_invalid", true, 0},
		"no such bounty": {func() error {
			_, err := bounties.LoadBounty(t.Context(), workflows.BountyStep{BountyID: uuid.New()})
			return err
		}, "bounty_not_found", true, 0},
		"a clock behind": {func() error {
			_, err := bounties.ExpireBounty(t.Context(), workflows.BountyStep{BountyID: due.ID})
			return err
		}, "bounty_not_due", false, 0},
		"still suspended": {func() error { return payouts.AwaitRecipientActive(t.Context(), payout) }, "recipient_suspended", false, 7 * time.Minute},
		"not settled yet": {func() error { return payouts.AwaitSettlement(t.Context(), payout) }, "payout_not_settled", false, 7 * time.Minute},
		"retried too soon": {func() error {
			_, err := payouts.RetryPayout(t.Context(), workflows.PayoutStep{PayoutID: payout})
			return err
		}, "payout_not_failed", true, 0},
		"no such payout": {func() error {
			_, err := payouts.SettlePayout(t.Context(), workflows.PayoutStep{PayoutID: uuid.New()})
			return err
		}, "payout_not_found", true, 0},
		"a closed pool": {func() error { _, err := away.LoadBounty(t.Context(), step(open)); return err }, "", false, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.run()
			if err == nil {
				t.Fatal("no error")
			}
			var application *temporal.ApplicationError
			if !errors.As(err, &application) {
				if test.code != "" {
					t.Errorf("got %v, want %s", err, test.code)
				}
				return
			}
			if application.Type() != test.code || application.NonRetryable() != test.final || application.NextRetryDelay() != test.next {
				t.Errorf("got %s, final %t, next after %s", application.Type(), application.NonRetryable(), application.NextRetryDelay())
			}
		})
	}
}

func TestStateTellsTheWorkflowWhatItNeeds(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	deadline := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	b := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded, Deadline: &deadline})
	bounties := &activities.Bounties{Store: db.Store, Grace: 30 * time.Minute}
	step := workflows.BountyStep{BountyID: b.ID, ActorAgentID: b.Creator.ID, RequestKey: "pay-1"}
	state, err := bounties.LoadBounty(t.Context(), step)
	if err != nil {
		t.Fatal(err)
	}
	if state.Payout != nil || state.ExpiresAt == nil || !state.ExpiresAt.Equal(deadline.Add(30*time.Minute)) {
		t.Errorf("before the payout: %+v", state)
	}
	for range 2 {
		if state, err = bounties.CreatePayout(t.Context(), step); err != nil {
			t.Fatal(err)
		}
		want := workflows.PayoutInput{PayoutID: state.Payout.PayoutID, BountyID: b.ID, CourseID: b.CourseID,
			RecipientAgentID: b.Submitter.ID, AmountCents: storetest.Reward, Currency: market.Currency}
		if *state.Payout != want {
			t.Errorf("the payout is %+v, want %+v", *state.Payout, want)
		}
	}
	payouts := &activities.Payouts{Store: db.Store, MaxTries: 3}
	failed, err := payouts.FailPayout(t.Context(), workflows.PayoutStep{PayoutID: state.Payout.PayoutID, FailureCode: "c", FailureDetail: "d"})
	if err != nil || failed != (workflows.PayoutState{Status: market.PayoutFailed, FailureCode: "c", FailureDetail: "d", MaxTries: 3}) {
		t.Errorf("%+v, %v", failed, err)
	}
}
