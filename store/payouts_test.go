package store_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// newPayout is an awarded bounty whose payout has been created.
func newPayout(t *testing.T, db *storetest.DB, rewardCents int64) (storetest.Bounty, store.Payout) {
	t.Helper()
	b := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded, RewardCents: rewardCents})
	p, err := db.CreatePayout(t.Context(), b.ID, store.Actor{AgentID: b.Creator.ID})
	if err != nil {
		t.Fatal(err)
	}
	return b, p
}

func TestPayoutIsSplitExactly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		basisPoints      int
		reward, fee, net int64
	}{
		{"a tenth", 1000, 5_000, 500, 4_500},
		{"rounded down", 1000, 109, 10, 99},
		{"no fee", 0, 5_000, 0, 5_000},
		{"all of it", 10_000, 5_000, 5_000, 0},
		{"the greatest reward", 1234, 1e12, 123_400_000_000, 876_600_000_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := storetest.New(t, func(o *store.Options) { o.FeeBasisPoints = test.basisPoints })
			b, p := newPayout(t, db, test.reward)
			if p.MarketplaceFeeCents != test.fee || p.SellerNetAmountCents != test.net {
				t.Errorf("split %d into %d + %d", p.AmountCents, p.MarketplaceFeeCents, p.SellerNetAmountCents)
			}
			settle(t, db, p.ID, market.PayoutSettled)
			if got := db.Available(t, b.Submitter.ID); got != test.net {
				t.Errorf("the recipient has %d cents", got)
			}
			db.CheckBooks(t)
		})
	}
}

// settle begins and makes a settlement, which should leave the payout in a status.
func settle(t *testing.T, db *storetest.DB, id uuid.UUID, want market.PayoutStatus) {
	t.Helper()
	if _, err := db.BeginSettlement(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	p, err := db.SettlePayout(t.Context(), id)
	if err != nil || p.Status != want {
		t.Fatalf("the payout is %s, %v, want %s", p.Status, err, want)
	}
}

// However often and by however many workers a settlement is run, money moves once.
func TestSettlementMovesMoneyOnce(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b, p := newPayout(t, db, storetest.Reward)
	if _, err := db.BeginSettlement(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for range 20 {
		workers.Go(func() {
			if _, err := db.SettlePayout(t.Context(), p.ID); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if got := db.Available(t, b.Submitter.ID); got != storetest.Reward*9/10 {
		t.Errorf("the recipient has %d cents", got)
	}
	if _, err := db.FailPayout(t.Context(), p.ID, "late", "A failure that comes after the settlement."); err != nil {
		t.Error(err)
	}
	if p, err := db.GetPayout(t.Context(), p.ID); err != nil || p.Status != market.PayoutSettled {
		t.Errorf("the payout is %s, %v", p.Status, err)
	}
	db.CheckBooks(t)
}

// A suspension between the submission and the settlement still holds the payout.
func TestSuspendedAfterSubmission(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b, p := newPayout(t, db, storetest.Reward)
	if _, err := db.BeginSettlement(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	db.SuspendUser(t, b.Submitter.UserID)
	for range 2 { // held once is told once
		held, err := db.SettlePayout(t.Context(), p.ID)
		if err != nil || held.Status != market.PayoutHeld {
			t.Fatalf("%s, %v", held.Status, err)
		}
		if _, err := db.BeginSettlement(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
	}
	held, err := db.ListNotifications(t.Context(), b.Submitter.ID, store.NotificationFilter{Type: market.NotifyPayoutHeld}, store.Page{Limit: 10})
	if err != nil || len(held) != 1 {
		t.Errorf("told %d times that it is held, %v", len(held), err)
	}
	if got := db.Available(t, b.Submitter.ID); got != 0 {
		t.Errorf("%d cents moved", got)
	}
}

func TestFailedSettlementLeavesTheEscrow(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b, p := newPayout(t, db, storetest.Reward)
	db.Freeze(t, b.Submitter.ID, true)
	if _, err := db.BeginSettlement(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	_, err := db.SettlePayout(t.Context(), p.ID)
	wantCode(t, err, "recipient_account_frozen")
	if _, err := db.RetryPayout(t.Context(), p.ID, store.Actor{}); !market.HasCode(err, "payout_not_failed") {
		t.Errorf("retried before it failed: %v", err)
	}
	failed, err := db.FailPayout(t.Context(), p.ID, "recipient_account_frozen", "Frozen.")
	if err != nil || failed.Status != market.PayoutFailed || *failed.FailureCode != "recipient_account_frozen" {
		t.Fatalf("%+v, %v", failed, err)
	}
	db.CheckBooks(t)

	db.Freeze(t, b.Submitter.ID, false)
	support := store.Actor{AgentID: b.Creator.ID, RequestKey: "retry-1"}
	for range 2 { // the second is the same request again
		retried, err := db.RetryPayout(t.Context(), p.ID, support)
		if err != nil || retried.Status != market.PayoutSubmitted || retried.Attempts != 2 || retried.FailureCode != nil {
			t.Fatalf("%+v, %v", retried, err)
		}
	}
	settle(t, db, p.ID, market.PayoutSettled)
	db.CheckBooks(t)
}
