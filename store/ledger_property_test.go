package store_test

import (
	"flag"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// economy is a marketplace in small, beside a model of where its money should be.
type economy struct {
	*storetest.DB
	t                  *testing.T
	creator, submitter storetest.Agent
	courseID           uuid.UUID
	bounties           []*modelBounty
	// available and fees are what the model expects, in cents.
	available map[uuid.UUID]int64
	fees      int64
}

type modelBounty struct {
	id, submission, payout uuid.UUID
	reward                 int64
	inEscrow               bool
}

// Whatever is asked for in whatever order, the money is where the model says, the
// books balance, and every escrow holds what its bounty's status says.
func TestMoneyIsWhereTheModelSays(t *testing.T) {
	t.Parallel()
	// Each check is a journey of some dozens of transactions.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		t.Fatal(err)
	}
	db := storetest.New(t)
	rapid.Check(t, func(r *rapid.T) {
		e := &economy{DB: db, t: t, available: map[uuid.UUID]int64{}}
		e.creator, e.submitter = db.NewAgent(t, storetest.NewAgentOptions{}), db.NewAgent(t, storetest.NewAgentOptions{})
		e.courseID = db.NewCourse(t, storetest.NewCourseOptions{Owner: e.creator.ID})
		before := e.platformFees()
		r.Repeat(map[string]func(*rapid.T){
			"grant": e.grant, "create": e.create, "fund": e.fund, "open": e.open, "accept": e.accept,
			"cancel": e.cancel, "expire": e.expire, "pay": e.pay, "settle": e.settle,
			"": func(*rapid.T) { e.check(before) },
		})
	})
	db.CheckBooks(t)
}

func (e *economy) check(feesBefore int64) {
	for _, agent := range []uuid.UUID{e.creator.ID, e.submitter.ID} {
		if got := e.Available(e.t, agent); got != e.available[agent] {
			e.t.Fatalf("%d cents available, the model says %d", got, e.available[agent])
		}
	}
	if got := e.platformFees() - feesBefore; got != e.fees {
		e.t.Fatalf("%d cents of fees, the model says %d", got, e.fees)
	}
	e.CheckBooks(e.t)
}

func (e *economy) platformFees() int64 {
	var cents int64
	const sum = `SELECT coalesce(sum(amount_cents), 0) FROM ledger_postings p JOIN ledger_accounts a ON a.id = p.account_id WHERE a.kind = 'platform.fees'`
	if err := e.Pool().QueryRow(e.t.Context(), sum).Scan(&cents); err != nil {
		e.t.Fatal(err)
	}
	return cents
}

func (e *economy) grant(r *rapid.T) {
	cents := rapid.Int64Range(1, 20_000).Draw(r, "grant")
	e.Credit(e.t, e.creator.ID, cents)
	e.available[e.creator.ID] += cents
}

func (e *economy) create(r *rapid.T) {
	reward := rapid.Int64Range(100, 9_999).Draw(r, "reward")
	b, err := e.CreateBounty(e.t.Context(), store.NewBounty{CourseID: e.courseID, Title: "t", Description: "d", RewardCents: reward, Currency: market.Currency}, e.by())
	if err != nil {
		e.t.Fatal(err)
	}
	e.bounties = append(e.bounties, &modelBounty{id: b.ID, reward: reward})
}

func (e *economy) fund(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error { _, err := e.FundBounty(e.t.Context(), b.id, e.by()); return err }, func(b *modelBounty) {
		if !b.inEscrow {
			e.available[e.creator.ID] -= b.reward
			b.inEscrow = true
		}
	})
}

func (e *economy) open(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error { _, err := e.OpenBounty(e.t.Context(), b.id, e.by()); return err }, func(*modelBounty) {})
}

func (e *economy) accept(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error {
		s, err := e.CreateSubmission(e.t.Context(), store.NewSubmission{BountyID: b.id, Title: "t", Description: "d"}, store.Actor{AgentID: e.submitter.ID})
		if err != nil {
			return err
		}
		b.submission = s.ID
		_, err = e.AcceptSubmission(e.t.Context(), b.id, s.ID, e.by())
		return err
	}, func(*modelBounty) {})
}

func (e *economy) cancel(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error { _, err := e.CancelBounty(e.t.Context(), b.id, e.by()); return err }, e.refunded)
}

func (e *economy) expire(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error {
		if rapid.Bool().Draw(r, "deadline passes") {
			e.PassDeadline(e.t, b.id)
		}
		_, err := e.ExpireBounty(e.t.Context(), b.id, 0, store.Actor{})
		return err
	}, e.refunded)
}

func (e *economy) refunded(b *modelBounty) {
	if b.inEscrow {
		e.available[e.creator.ID] += b.reward
		b.inEscrow = false
	}
}

func (e *economy) pay(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error {
		p, err := e.CreatePayout(e.t.Context(), b.id, e.by())
		if err == nil {
			b.payout = p.ID
		}
		return err
	}, func(*modelBounty) {})
}

func (e *economy) settle(r *rapid.T) {
	e.onBounty(r, func(b *modelBounty) error {
		if _, err := e.BeginSettlement(e.t.Context(), b.payout); err != nil {
			return err
		}
		_, err := e.SettlePayout(e.t.Context(), b.payout)
		return err
	}, func(b *modelBounty) {
		if b.inEscrow {
			fee, net := market.Fee(b.reward, storetest.FeeBasisPoints)
			e.available[e.submitter.ID] += net
			e.fees += fee
			b.inEscrow = false
		}
	})
}

// onBounty tries a transition on one of the bounties and, unless the rules refuse it,
// has the model follow.
func (e *economy) onBounty(r *rapid.T, transition func(*modelBounty) error, follow func(*modelBounty)) {
	if len(e.bounties) == 0 {
		r.Skip("no bounty yet")
	}
	b := rapid.SampledFrom(e.bounties).Draw(r, "bounty")
	err := transition(b)
	if err == nil {
		follow(b)
		return
	}
	if refusal, ok := market.AsError(err); !ok || refusal.Retryable() {
		e.t.Fatal(err)
	}
}

func (e *economy) by() store.Actor { return store.Actor{AgentID: e.creator.ID} }
