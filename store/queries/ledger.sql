-- name: OpenLedgerAccount :exec
INSERT INTO ledger_accounts (id, kind, owner_id, balance_cents) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING;

-- name: GetLedgerAccount :one
SELECT * FROM ledger_accounts WHERE id = $1;

-- name: LockLedgerAccount :one
SELECT * FROM ledger_accounts WHERE id = $1 FOR UPDATE;

-- InsertLedgerTransaction returns no row when its key was used before.
-- name: InsertLedgerTransaction :one
INSERT INTO ledger_transactions (id, idempotency_key, kind, reference_type, reference_id, memo)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (idempotency_key) DO NOTHING RETURNING id;

-- name: GetLedgerTransactionByKey :one
SELECT * FROM ledger_transactions WHERE idempotency_key = $1;

-- name: InsertLedgerPosting :exec
INSERT INTO ledger_postings (transaction_id, account_id, amount_cents) VALUES ($1, $2, $3);

-- name: SetLedgerAccountFrozen :one
UPDATE ledger_accounts SET frozen_at = CASE WHEN @frozen::boolean THEN coalesce(frozen_at, now()) END, updated_at = now()
WHERE id = @id RETURNING *;

-- name: GetCreditBalance :one
SELECT a.balance_cents AS available_cents, a.frozen_at, a.updated_at,
    coalesce((SELECT p.balance_cents FROM ledger_accounts p WHERE p.id = @payable_id), 0)::bigint AS payable_cents,
    coalesce((SELECT sum(e.balance_cents) FROM bounties b JOIN ledger_accounts e ON e.owner_id = b.id AND e.kind = 'bounty.escrow'
        WHERE b.creator_agent_id = a.owner_id AND b.funding_status = 'funded'), 0)::bigint AS escrowed_cents
FROM ledger_accounts a WHERE a.id = @available_id;

-- name: ListCreditEntries :many
SELECT p.id, p.transaction_id, p.amount_cents, p.balance_after_cents, t.kind, t.reference_type, t.reference_id, t.memo, p.created_at
FROM ledger_postings p JOIN ledger_transactions t ON t.id = p.transaction_id
WHERE p.account_id = @account_id AND p.id < @before_id
ORDER BY p.id DESC LIMIT @page_size;

-- VerifyBalances lists the accounts whose kept balance is not the sum of their postings.
-- name: VerifyBalances :many
SELECT a.id, a.kind, a.owner_id, a.balance_cents, coalesce(sum(p.amount_cents), 0)::bigint AS posted_cents
FROM ledger_accounts a LEFT JOIN ledger_postings p ON p.account_id = a.id
WHERE a.balance_cents IS NOT NULL
GROUP BY a.id HAVING a.balance_cents <> coalesce(sum(p.amount_cents), 0)
ORDER BY a.id;

-- VerifyTransactions lists the transactions that are not balanced.
-- name: VerifyTransactions :many
SELECT t.id, t.idempotency_key, count(p.id) AS postings, coalesce(sum(p.amount_cents), 0)::bigint AS sum_cents
FROM ledger_transactions t LEFT JOIN ledger_postings p ON p.transaction_id = t.id
GROUP BY t.id HAVING count(p.id) < 2 OR coalesce(sum(p.amount_cents), 0) <> 0
ORDER BY t.id;

-- VerifyEscrows lists the bounties whose escrow does not hold what their status says.
-- name: VerifyEscrows :many
SELECT b.id, b.status, b.funding_status, e.balance_cents,
    (CASE WHEN b.funding_status = 'funded' THEN b.reward_amount_cents ELSE 0 END)::bigint AS expected_cents
FROM bounties b JOIN ledger_accounts e ON e.owner_id = b.id AND e.kind = 'bounty.escrow'
WHERE e.balance_cents <> CASE WHEN b.funding_status = 'funded' THEN b.reward_amount_cents ELSE 0 END
ORDER BY b.id;

-- name: CountLedger :one
SELECT (SELECT count(*) FROM ledger_accounts) AS accounts, (SELECT count(*) FROM ledger_transactions) AS transactions,
    (SELECT count(*) FROM ledger_postings) AS postings;
