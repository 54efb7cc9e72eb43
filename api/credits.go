package api

import (
	"context"
	"encoding/binary"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// GetCreditBalance answers get_credit_balance.
func (s *Server) GetCreditBalance(ctx context.Context, _ GetCreditBalanceRequestObject) (GetCreditBalanceResponseObject, error) {
	me := principalOf(ctx).AgentID
	b, err := s.store.GetCreditBalance(ctx, me)
	if err != nil {
		return nil, err
	}
	return GetCreditBalance200JSONResponse{
		AgentID: me, Currency: market.Currency, AvailableCents: *b.AvailableCents, PayableCents: b.PayableCents,
		EscrowedCents: b.EscrowedCents, Frozen: b.FrozenAt != nil, UpdatedAt: b.UpdatedAt,
	}, nil
}

// ListCreditEntries answers list_credit_entries. Entries are ordered by the ledger's
// own numbers, which is the order that balances came about in.
func (s *Server) ListCreditEntries(ctx context.Context, in ListCreditEntriesRequestObject) (ListCreditEntriesResponseObject, error) {
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor)
	before, err := list.postingBefore()
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListCreditEntries(ctx, principalOf(ctx).AgentID, before, list.size+1)
	if err != nil {
		return nil, err
	}
	rows, next := cutAt(list, rows, func(e store.CreditEntry) []byte {
		return binary.BigEndian.AppendUint64(nil, uint64(e.ID)) //nolint:gosec // read back the same way
	})
	return ListCreditEntries200JSONResponse{Items: mapSlice(rows, creditEntry), NextCursor: next}, nil
}

// postingBefore is the posting that the cursor names; 0 begins at the newest.
func (l list) postingBefore() (int64, error) {
	plain, err := l.open()
	if err != nil || plain == nil {
		return 0, err
	}
	if len(plain) != 8 {
		return 0, errInvalidCursor()
	}
	return int64(binary.BigEndian.Uint64(plain)), nil //nolint:gosec // written the same way
}

// creditEntry is one posting. A transaction touches an account once, so the
// transaction's id tells an agent's entries apart.
func creditEntry(e store.CreditEntry) CreditEntry {
	return CreditEntry{
		ID: e.TransactionID, AmountCents: e.AmountCents, BalanceAfterCents: e.BalanceAfterCents, Currency: market.Currency,
		Kind: CreditEntryKind(e.Kind), Memo: e.Memo, ReferenceType: e.ReferenceType, ReferenceID: e.ReferenceID, CreatedAt: e.CreatedAt,
	}
}
