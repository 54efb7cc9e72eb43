-- ClaimIdempotencyKey takes a key that is new or expired; it returns no row for any other.
-- name: ClaimIdempotencyKey :one
INSERT INTO idempotency_keys AS k (scope, operation, key, fingerprint, creation_id, locked_until, expires_at)
VALUES (@scope, @operation, @key, @fingerprint, @creation_id, now() + @lease::interval, now() + @lifetime::interval)
ON CONFLICT (scope, operation, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, creation_id = excluded.creation_id, locked_until = excluded.locked_until,
    status = NULL, headers = NULL, body = NULL, created_at = now(), expires_at = excluded.expires_at
WHERE k.expires_at <= now()
RETURNING creation_id, locked_until;

-- TakeOverIdempotencyKey takes a key whose holder gave it back or died. The creation id
-- stays: what the earlier holder may have created is found by it.
-- name: TakeOverIdempotencyKey :one
UPDATE idempotency_keys SET locked_until = now() + @lease::interval
WHERE scope = @scope AND operation = @operation AND key = @key AND status IS NULL AND locked_until <= now()
RETURNING creation_id, locked_until;

-- name: GetIdempotencyKey :one
SELECT fingerprint, status, headers, body FROM idempotency_keys
WHERE scope = @scope AND operation = @operation AND key = @key;

-- The lock's end names the holder: who lost the key to another can no longer answer for it.
-- name: CompleteIdempotencyKey :exec
UPDATE idempotency_keys SET status = @status, headers = @headers, body = @body
WHERE scope = @scope AND operation = @operation AND key = @key AND locked_until = @locked_until AND status IS NULL;

-- ReleaseIdempotencyKey lets the key be tried again.
-- name: ReleaseIdempotencyKey :exec
UPDATE idempotency_keys SET locked_until = now()
WHERE scope = @scope AND operation = @operation AND key = @key AND locked_until = @locked_until AND status IS NULL;

-- name: DeleteExpiredIdempotencyKeys :execrows
DELETE FROM idempotency_keys WHERE (scope, operation, key) IN
    (SELECT scope, operation, key FROM idempotency_keys i WHERE i.expires_at <= now() LIMIT 1000);
