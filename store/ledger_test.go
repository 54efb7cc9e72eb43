package store_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// books are accounts to write to without the store: what Postgres itself allows.
type books struct {
	*storetest.DB
	bounty storetest.Bounty
	// available has 1,000 cents; escrow holds the reward; fees is the platform's.
	available, escrow, fees, external string
}

func newBooks(t *testing.T) books {
	t.Helper()
	b := books{DB: storetest.New(t)}
	b.bounty = b.NewBounty(t, storetest.NewBountyOptions{Funded: true})
	b.Credit(t, b.bounty.Creator.ID, 1_000)
	b.available = b.account(t, "owner_id = $1 AND kind = 'agent.available'", b.bounty.Creator.ID)
	b.escrow = b.account(t, "owner_id = $1 AND kind = 'bounty.escrow'", b.bounty.ID)
	b.fees = b.account(t, "kind = 'platform.fees'")
	b.external = b.account(t, "kind = 'platform.external'")
	return b
}

func (b books) account(t *testing.T, where string, args ...any) string {
	t.Helper()
	var id string
	if err := b.Pool().QueryRow(t.Context(), "SELECT id::text FROM ledger_accounts WHERE "+where, args...).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// leg is one posting: what an account is credited (positive) or debited.
type leg struct {
	account string
	cents   int64
}

// post writes a ledger transaction as nobody in this code base would: by hand.
func (b books) post(ctx context.Context, legs ...leg) error {
	return pgx.BeginFunc(ctx, b.Pool(), func(tx pgx.Tx) error {
		id := uuid.New()
		if _, err := tx.Exec(ctx, "INSERT INTO ledger_transactions (id, idempotency_key, kind) VALUES ($1, $2, 'grant')", id, id.String()); err != nil {
			return err
		}
		for _, l := range legs {
			if _, err := tx.Exec(ctx, "INSERT INTO ledger_postings (transaction_id, account_id, amount_cents) VALUES ($1, $2, $3)", id, l.account, l.cents); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestPostgresRefusesWrongPostings(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	tests := map[string]struct {
		legs       []leg
		constraint string
	}{
		"balanced":                 {[]leg{{b.available, -10}, {b.fees, 10}}, ""},
		"not balanced":             {[]leg{{b.available, -10}, {b.fees, 9}}, "ledger_transaction_balanced"},
		"a single posting":         {[]leg{{b.fees, 10}}, "ledger_transaction_balanced"},
		"no posting":               {nil, "ledger_transaction_balanced"},
		"negative agent balance":   {[]leg{{b.available, -1_001}, {b.fees, 1_001}}, "ledger_balance_not_negative"},
		"negative escrow":          {[]leg{{b.escrow, -storetest.Reward - 1}, {b.fees, storetest.Reward + 1}}, "ledger_balance_not_negative"},
		"zero cents":               {[]leg{{b.available, 0}, {b.fees, 0}}, "ledger_postings_amount_cents_check"},
		"more than 10^12 cents":    {[]leg{{b.external, -1e12 - 1}, {b.available, 1e12 + 1}}, "ledger_postings_amount_cents_check"},
		"an account of nobody":     {[]leg{{uuid.NewString(), -5}, {b.fees, 5}}, "ledger_postings_account_id_fkey"},
		"the platform may go into": {[]leg{{b.external, -7}, {b.fees, 7}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantConstraint(t, b.post(t.Context(), test.legs...), test.constraint)
		})
	}
	t.Cleanup(func() { b.CheckBooks(t) })
}

func TestPostgresKeepsTheBooksAppendOnly(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	tests := map[string]struct {
		statement  string
		args       []any
		constraint string
	}{
		"change a posting":            {"UPDATE ledger_postings SET amount_cents = amount_cents + 1", nil, "ledger_postings_append_only"},
		"delete a posting":            {"DELETE FROM ledger_postings", nil, "ledger_postings_append_only"},
		"truncate postings":           {"TRUNCATE ledger_postings", nil, "ledger_postings_append_only"},
		"change a transaction":        {"UPDATE ledger_transactions SET memo = 'x'", nil, "ledger_transactions_append_only"},
		"delete a transaction":        {"DELETE FROM ledger_transactions", nil, "ledger_transactions_append_only"},
		"truncate transactions":       {"TRUNCATE ledger_transactions CASCADE", nil, "ledger_transactions_append_only"},
		"delete an account":           {"DELETE FROM ledger_accounts", nil, "ledger_accounts_append_only"},
		"truncate accounts":           {"TRUNCATE ledger_accounts CASCADE", nil, "ledger_accounts_append_only"},
		"set a balance":               {"UPDATE ledger_accounts SET balance_cents = 1e9 WHERE id = $1", []any{b.available}, "ledger_balance_from_postings"},
		"raise every balance":         {"UPDATE ledger_accounts SET balance_cents = balance_cents + 1", nil, "ledger_balance_from_postings"},
		"give the platform a balance": {"UPDATE ledger_accounts SET balance_cents = 0 WHERE id = $1", []any{b.fees}, "ledger_balance_from_postings"},
		"take the balance away":       {"UPDATE ledger_accounts SET balance_cents = NULL WHERE id = $1", []any{b.available}, "ledger_balance_from_postings"},
		"hand an account over":        {"UPDATE ledger_accounts SET owner_id = gen_random_uuid() WHERE id = $1", []any{b.available}, "ledger_accounts_append_only"},
		"open with a balance": {"INSERT INTO ledger_accounts (id, kind, owner_id, balance_cents) VALUES (gen_random_uuid(), 'agent.available', gen_random_uuid(), 5)",
			nil, "ledger_balance_from_postings"},
		"open with a debt": {"INSERT INTO ledger_accounts (id, kind, owner_id, balance_cents) VALUES (gen_random_uuid(), 'agent.available', gen_random_uuid(), -5)",
			nil, "ledger_balance_from_postings"},
		"post to an earlier transaction": {"INSERT INTO ledger_postings (transaction_id, account_id, amount_cents) SELECT id, $1, 5 FROM ledger_transactions LIMIT 1",
			[]any{b.fees}, "ledger_transaction_closed"},
		"freeze an escrow": {"UPDATE ledger_accounts SET frozen_at = now() WHERE id = $1", []any{b.escrow}, "ledger_accounts_check2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.Pool().Exec(t.Context(), test.statement, test.args...)
			wantConstraint(t, err, test.constraint)
		})
	}
	t.Cleanup(func() { b.CheckBooks(t) })
}

// wantConstraint fails the test unless err is the violation of the named constraint;
// an empty name means no error at all.
func wantConstraint(t *testing.T, err error, constraint string) {
	t.Helper()
	var pg *pgconn.PgError
	switch {
	case constraint == "" && err == nil:
	case errors.As(err, &pg) && pg.ConstraintName == constraint:
	default:
		t.Errorf("got %v, want a violation of %q", err, constraint)
	}
}

func TestGrantHappensOncePerID(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	agent := db.NewAgent(t, storetest.NewAgentOptions{})
	grant := store.Grant{ID: uuid.Must(uuid.NewV7()), AgentID: agent.ID, AmountCents: 700, Currency: market.Currency, Reason: "welcome"}
	results := make(chan error)
	const times = 8
	for range times {
		go func() {
			_, err := db.GrantCredits(t.Context(), grant, store.Actor{})
			results <- err
		}()
	}
	for range times {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if got := db.Available(t, agent.ID); got != 700 {
		t.Errorf("%d cents after %d grants with one id", got, times)
	}
	db.CheckBooks(t)
}

func TestGrantRefusals(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	agent := db.NewAgent(t, storetest.NewAgentOptions{})
	tests := map[string]struct {
		grant store.Grant
		code  string
	}{
		"unknown agent":    {store.Grant{AgentID: uuid.New(), AmountCents: 1, Currency: market.Currency}, "agent_not_found"},
		"another currency": {store.Grant{AgentID: agent.ID, AmountCents: 1, Currency: "EUR"}, "currency_unsupported"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := db.GrantCredits(t.Context(), test.grant, store.Actor{})
			wantCode(t, err, test.code)
		})
	}
}

// wantCode fails the test unless err is the domain's error with the code; an empty
// code means no error.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if code == "" && err == nil || code != "" && market.HasCode(err, code) {
		return
	}
	t.Errorf("got %v, want code %q", err, code)
}

func TestVerifyFindsWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tamper                        string
		balances, unbalanced, escrows int
	}{
		"nothing":                {"", 0, 0, 0},
		"a posting":              {"UPDATE ledger_postings SET amount_cents = amount_cents + 1 WHERE id = (SELECT max(p.id) FROM ledger_postings p JOIN ledger_accounts a ON a.id = p.account_id WHERE a.kind = 'agent.available')", 1, 1, 0},
		"an agent's balance":     {"UPDATE ledger_accounts SET balance_cents = balance_cents + 1 WHERE kind = 'agent.available'", 1, 0, 0},
		"an escrow":              {"UPDATE ledger_accounts SET balance_cents = 0 WHERE kind = 'bounty.escrow'", 1, 0, 1},
		"a transaction's legs":   {"DELETE FROM ledger_postings WHERE transaction_id = (SELECT id FROM ledger_transactions WHERE kind = 'escrow_funded')", 2, 1, 0},
		"the bounty's own state": {"UPDATE bounties SET funding_status = 'failed', funding_id = NULL, funded_at = NULL", 0, 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			tamper(t, b.DB, test.tamper)
			r, err := b.VerifyLedger(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Balances) != test.balances || len(r.Unbalanced) != test.unbalanced || len(r.Escrows) != test.escrows {
				t.Errorf("found %+v, want %d balances, %d transactions, %d escrows", r, test.balances, test.unbalanced, test.escrows)
			}
			if clean := test.tamper == ""; r.Clean() != clean {
				t.Errorf("Clean() = %t", r.Clean())
			}
			if r.Transactions != 3 || r.Accounts == 0 {
				t.Errorf("counted %d transactions, %d accounts", r.Transactions, r.Accounts)
			}
		})
	}
}

// tamper changes the books as only a superuser can, past every trigger.
func tamper(t *testing.T, db *storetest.DB, statement string) {
	t.Helper()
	admin, err := url.Parse(stacktest.Shared(t).AdminDatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	own, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	admin.Path = own.Path
	conn, err := pgx.Connect(t.Context(), admin.String())
	if err != nil {
		t.Fatal(err)
	}
	// One round trip, in which the superuser's session ends itself: the owner could not
	// drop the database while it lasts.
	_, err = conn.Exec(t.Context(), "SET session_replication_role = replica; BEGIN; "+statement+"; COMMIT; SELECT pg_terminate_backend(pg_backend_pid())")
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "57P01" {
		t.Fatalf("tampering ended with %v", err)
	}
	<-conn.PgConn().CleanupDone()
}

func TestEntriesTellTheStoryOfABalance(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b := db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyPaid, RewardCents: 999})
	for agent, want := range map[uuid.UUID][]store.CreditEntry{
		b.Creator.ID:   {{AmountCents: -999, Kind: market.LedgerEscrowFunded}, {AmountCents: 999, Kind: market.LedgerGrant}},
		b.Submitter.ID: {{AmountCents: 900, Kind: market.LedgerPayout}},
	} {
		entries, err := db.ListCreditEntries(t.Context(), agent, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != len(want) {
			t.Fatalf("%d entries, want %d: %+v", len(entries), len(want), entries)
		}
		var after int64
		for i := len(entries) - 1; i >= 0; i-- {
			after += entries[i].AmountCents
			if entries[i].AmountCents != want[i].AmountCents || entries[i].Kind != want[i].Kind || *entries[i].BalanceAfterCents != after {
				t.Errorf("entry %d is %+v, want %d %s and %d after it", i, entries[i], want[i].AmountCents, want[i].Kind, after)
			}
		}
	}
	db.CheckBooks(t)
}
