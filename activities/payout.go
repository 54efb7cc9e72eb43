package activities

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// Payouts makes the transitions of payouts.
type Payouts struct {
	Store *store.Store
	// Recheck is how often a held payout looks whether its recipient is active again.
	Recheck time.Duration
	// MaxTries is how often one settlement may meet an outage before it fails.
	MaxTries int32
}

// BeginSettlement submits the payout, or holds it while its recipient is suspended.
func (a *Payouts) BeginSettlement(ctx context.Context, s workflows.PayoutStep) (workflows.PayoutState, error) {
	return a.state(a.Store.BeginSettlement(ctx, s.PayoutID))
}

// SettlePayout moves the money, once.
func (a *Payouts) SettlePayout(ctx context.Context, s workflows.PayoutStep) (workflows.PayoutState, error) {
	return a.state(a.Store.SettlePayout(ctx, s.PayoutID))
}

// FailPayout records why the settlement failed.
func (a *Payouts) FailPayout(ctx context.Context, s workflows.PayoutStep) (workflows.PayoutState, error) {
	return a.state(a.Store.FailPayout(ctx, s.PayoutID, s.FailureCode, s.FailureDetail))
}

// RetryPayout submits a failed payout again.
func (a *Payouts) RetryPayout(ctx context.Context, s workflows.PayoutStep) (workflows.PayoutState, error) {
	return a.state(a.Store.RetryPayout(ctx, s.PayoutID, store.Actor{AgentID: s.ActorAgentID, RequestKey: s.RequestKey}))
}

// AwaitRecipientActive fails, to be retried after Recheck, while the payout's recipient
// is suspended.
func (a *Payouts) AwaitRecipientActive(ctx context.Context, payoutID uuid.UUID) error {
	active, err := a.Store.IsRecipientActive(ctx, payoutID)
	if err != nil {
		return fail(err)
	}
	if !active {
		return a.notYet("recipient_suspended", "The recipient is suspended.")
	}
	return nil
}

// AwaitSettlement fails, to be retried after Recheck, until the payout is settled.
func (a *Payouts) AwaitSettlement(ctx context.Context, payoutID uuid.UUID) error {
	p, err := a.Store.GetPayout(ctx, payoutID)
	if err != nil {
		return fail(err)
	}
	if !p.Status.Final() {
		return a.notYet("payout_not_settled", "The payout is "+string(p.Status)+".")
	}
	return nil
}

func (a *Payouts) notYet(code, detail string) error {
	return temporal.NewApplicationErrorWithOptions(detail, code, temporal.ApplicationErrorOptions{NextRetryDelay: a.Recheck})
}

func (a *Payouts) state(p store.Payout, err error) (workflows.PayoutState, error) {
	if err != nil {
		return workflows.PayoutState{}, fail(err)
	}
	state := workflows.PayoutState{Status: p.Status, Attempts: p.Attempts, MaxTries: a.MaxTries}
	if p.Status == market.PayoutFailed {
		state.FailureCode, state.FailureDetail = *p.FailureCode, *p.FailureDetail
	}
	return state, nil
}
