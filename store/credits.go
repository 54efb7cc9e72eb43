package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Grant is credit given to an agent by support.
type Grant struct {
	// ID is the ledger transaction's; the zero value lets the store choose. The same
	// ID again grants nothing more.
	ID          uuid.UUID
	AgentID     uuid.UUID
	AmountCents int64
	Currency    string
	Reason      string
}

// GrantResult is a grant that happened.
type GrantResult struct {
	TransactionID  uuid.UUID
	AvailableCents int64
	CreatedAt      time.Time
}

// GrantCredits moves credit from outside the platform to the agent's available
// balance. It refuses amounts outside 1 to 10^12 cents and unknown agents.
func (s *Store) GrantCredits(ctx context.Context, g Grant, by Actor) (GrantResult, error) {
	if err := market.CheckCurrency(g.Currency); err != nil {
		return GrantResult{}, err
	}
	g.ID = idOr(g.ID)
	var result GrantResult
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := t.GetAgent(ctx, g.AgentID); err != nil {
			return translate(err, "agent")
		}
		done, err := t.wasDone(ctx, by, "credit.granted", g.AgentID)
		if err != nil {
			return err
		}
		key := "grant:" + g.ID.String()
		to := accountID(market.AccountAgentAvailable, g.AgentID)
		_, err = t.post(ctx, movement{key: key, kind: market.LedgerGrant, memo: g.Reason}, transfer(platformExternal, to, g.AmountCents)...)
		if err != nil {
			return err
		}
		transaction, err := t.GetLedgerTransactionByKey(ctx, key)
		if err != nil {
			return err
		}
		account, err := t.GetLedgerAccount(ctx, to)
		if err != nil {
			return err
		}
		result = GrantResult{TransactionID: transaction.ID, AvailableCents: *account.BalanceCents, CreatedAt: transaction.CreatedAt}
		if done {
			return nil
		}
		return t.audit(ctx, by, "credit.granted", "agent", g.AgentID, map[string]any{"amount_cents": g.AmountCents, "reason": g.Reason})
	})
	return result, err
}

// CreditBalance is what an agent has, in cents.
type CreditBalance = db.GetCreditBalanceRow

// GetCreditBalance returns the agent's balances.
func (s *Store) GetCreditBalance(ctx context.Context, agentID uuid.UUID) (CreditBalance, error) {
	row, err := s.q.GetCreditBalance(ctx, db.GetCreditBalanceParams{
		AvailableID: accountID(market.AccountAgentAvailable, agentID),
		PayableID:   accountID(market.AccountAgentPayable, agentID),
	})
	return found(row, err, "agent")
}

// CreditEntry is one movement of an agent's available balance.
type CreditEntry = db.ListCreditEntriesRow

// ListCreditEntries returns the movements of the agent's available balance before the
// given posting (0: from the newest), newest first.
func (s *Store) ListCreditEntries(ctx context.Context, agentID uuid.UUID, before int64, limit int) ([]CreditEntry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.q.ListCreditEntries(ctx, db.ListCreditEntriesParams{
		AccountID: accountID(market.AccountAgentAvailable, agentID), BeforeID: before, PageSize: int32(limit), //nolint:gosec // a page is at most 101
	})
	return rows, translate(err, "")
}

// SetAccountFrozen freezes or unfreezes the agent's credit account. It returns when
// the account was frozen, nil if it is not. Asking for what is already so changes nothing.
func (s *Store) SetAccountFrozen(ctx context.Context, agentID uuid.UUID, frozen bool, by Actor) (*time.Time, error) {
	var at *time.Time
	err := s.inTx(ctx, func(t *tx) error {
		account, err := t.LockLedgerAccount(ctx, accountID(market.AccountAgentAvailable, agentID))
		if err != nil {
			return translate(err, "agent")
		}
		at = account.FrozenAt
		if (at != nil) == frozen {
			return nil
		}
		account, err = t.SetLedgerAccountFrozen(ctx, db.SetLedgerAccountFrozenParams{Frozen: frozen, ID: account.ID})
		if err != nil {
			return err
		}
		at = account.FrozenAt
		action := map[bool]string{true: "credit.frozen", false: "credit.unfrozen"}[frozen]
		return t.audit(ctx, by, action, "agent", agentID, nil)
	})
	return at, err
}
