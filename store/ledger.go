package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// The platform's accounts exist in every database (migration 3).
var (
	platformExternal = uuid.MustParse("00000000-0000-7000-8000-000000000001")
	platformFees     = uuid.MustParse("00000000-0000-7000-8000-000000000002")
)

// accountNamespace makes an account's id from its owner and kind, so nothing has to
// be looked up to post to it.
var accountNamespace = uuid.MustParse("6f9619ff-8b86-5d01-b42d-00cf4fc964ff")

func accountID(kind market.AccountKind, owner uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(accountNamespace, append([]byte(kind), owner[:]...))
}

// openAgentAccounts gives a new agent its ledger accounts.
func (t *tx) openAgentAccounts(ctx context.Context, agentID uuid.UUID) error {
	for _, kind := range []market.AccountKind{market.AccountAgentAvailable, market.AccountAgentPayable} {
		if err := t.openAccount(ctx, kind, agentID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) openAccount(ctx context.Context, kind market.AccountKind, owner uuid.UUID) error {
	return t.OpenLedgerAccount(ctx, db.OpenLedgerAccountParams{ID: accountID(kind, owner), Kind: kind, OwnerID: &owner})
}

// movement says why money moves. Its key makes it happen once.
type movement struct {
	key           string
	kind          market.LedgerKind
	referenceType string
	referenceID   uuid.UUID
	memo          string
}

// posting credits an account (positive cents) or debits it (negative).
type posting struct {
	account uuid.UUID
	cents   int64
}

// transfer is the pair of postings that moves cents from one account to another.
func transfer(from, to uuid.UUID, cents int64) []posting {
	return []posting{{from, -cents}, {to, cents}}
}

// post writes one balanced ledger transaction and returns its id. If the key was used
// before, nothing moves and the id of the earlier transaction is returned. Postings of
// zero cents are left out. The database refuses what is unbalanced or would make a
// balance negative (insufficient_credit).
func (t *tx) post(ctx context.Context, m movement, postings ...posting) (uuid.UUID, error) {
	p := db.InsertLedgerTransactionParams{ID: newID(), IdempotencyKey: m.key, Kind: m.kind}
	if m.referenceType != "" {
		p.ReferenceType, p.ReferenceID = &m.referenceType, &m.referenceID
	}
	if m.memo != "" {
		p.Memo = &m.memo
	}
	id, err := t.InsertLedgerTransaction(ctx, p)
	if errors.Is(err, pgx.ErrNoRows) {
		earlier, err := t.GetLedgerTransactionByKey(ctx, m.key)
		return earlier.ID, err
	}
	if err != nil {
		return uuid.Nil, err
	}
	// Every transaction locks its accounts in the same order, so two never wait for
	// each other. Within one account credits come first: money passes through.
	slices.SortStableFunc(postings, func(a, b posting) int {
		return cmp.Or(slices.Compare(a.account[:], b.account[:]), cmp.Compare(b.cents, a.cents))
	})
	for _, p := range postings {
		if p.cents == 0 {
			continue
		}
		err := t.InsertLedgerPosting(ctx, db.InsertLedgerPostingParams{TransactionID: id, AccountID: p.account, AmountCents: p.cents})
		if err != nil {
			return uuid.Nil, err
		}
	}
	return id, nil
}

// checkNotFrozen refuses to move money from or to a frozen agent's account, and keeps
// it from being frozen until the transaction ends. The account stays locked.
func (t *tx) checkNotFrozen(ctx context.Context, agentID uuid.UUID, code string) error {
	account, err := t.LockLedgerAccount(ctx, accountID(market.AccountAgentAvailable, agentID))
	if err != nil {
		return err
	}
	if account.FrozenAt != nil {
		return market.Refused(code, "The agent's credit account is frozen; support can unfreeze it.")
	}
	return nil
}

// LedgerReport is the outcome of recomputing the books from the postings.
type LedgerReport struct {
	Accounts, Transactions, Postings int64
	// Balances differ from the sum of their postings; Unbalanced transactions do not
	// sum to zero; Escrows hold something else than their bounty's status says.
	Balances   []db.VerifyBalancesRow
	Unbalanced []db.VerifyTransactionsRow
	Escrows    []db.VerifyEscrowsRow
}

// Clean reports whether the books are right.
func (r LedgerReport) Clean() bool {
	return len(r.Balances)+len(r.Unbalanced)+len(r.Escrows) == 0
}

// VerifyLedger recomputes every balance from the postings, in one snapshot.
func (s *Store) VerifyLedger(ctx context.Context) (LedgerReport, error) {
	var r LedgerReport
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, snapshot, func(raw pgx.Tx) error {
		q := s.q.WithTx(raw)
		count, err := q.CountLedger(ctx)
		if err != nil {
			return err
		}
		r.Accounts, r.Transactions, r.Postings = count.Accounts, count.Transactions, count.Postings
		if r.Balances, err = q.VerifyBalances(ctx); err != nil {
			return err
		}
		if r.Unbalanced, err = q.VerifyTransactions(ctx); err != nil {
			return err
		}
		r.Escrows, err = q.VerifyEscrows(ctx)
		return err
	})
	return r, translate(err, "")
}
