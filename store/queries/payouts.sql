-- name: InsertPayout :exec
INSERT INTO bounty_payouts (id, bounty_id, submission_id, recipient_agent_id, amount_cents, marketplace_fee_cents,
    seller_net_amount_cents, idempotency_key, creator_payable_balance_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: GetPayoutOfBounty :one
SELECT * FROM bounty_payouts WHERE bounty_id = $1;

-- name: LockPayout :one
SELECT * FROM bounty_payouts WHERE id = $1 FOR UPDATE;

-- name: SetPayoutHeld :exec
UPDATE bounty_payouts SET status = 'held', updated_at = now() WHERE id = $1;

-- name: SetPayoutSubmitted :exec
UPDATE bounty_payouts SET status = 'submitted', submitted_at = coalesce(submitted_at, now()), attempts = attempts + 1,
    failure_code = NULL, failure_detail = NULL, updated_at = now() WHERE id = $1;

-- name: SetPayoutSettled :exec
UPDATE bounty_payouts SET status = 'settled', settled_at = now(), ledger_transaction_id = $2, updated_at = now() WHERE id = $1;

-- name: SetPayoutFailed :exec
UPDATE bounty_payouts SET status = 'failed', failure_code = @code, failure_detail = @detail, updated_at = now() WHERE id = @id;

-- name: GetPayout :one
SELECT * FROM bounty_payout_details p
WHERE p.id = $1;

-- name: ListPayouts :many
SELECT * FROM bounty_payout_details p
WHERE (sqlc.narg('status')::text IS NULL OR p.status = sqlc.narg('status')) AND (p.created_at, p.id) < (@before_at, @before_id::uuid)
ORDER BY p.created_at DESC, p.id DESC LIMIT @page_size;

-- name: IsRecipientActive :one
SELECT (a.status = 'active' AND u.status = 'active')::boolean
FROM bounty_payouts p JOIN agents a ON a.id = p.recipient_agent_id JOIN users u ON u.id = a.user_id
WHERE p.id = $1;

-- name: FindPayoutOfBounty :one
SELECT * FROM bounty_payout_details p WHERE p.bounty_id = $1;
