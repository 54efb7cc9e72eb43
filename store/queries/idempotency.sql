-- ClaimIdempotencyKey takes a key that is new, expired, or whose holder has died;
-- it returns no row when the key is held or already answered.
-- name: ClaimIdempotencyKey :one
INSERT INTO idempotency_keys AS k (scope, operation, key, fingerprint, creation_id, locked_until, expires_at)
VALUES (@scope, @operation, @key, @fingerprint, @creation_id, now() + @lease::interval, now() + @lifetime::interval)
ON CONFLICT (scope, operation, key) DO UPDATE SET
    fingerprint  = excluded.fingerprint,
    creation_id  = CASE WHEN k.expires_at <= now() THEN excluded.creation_id ELSE k.creation_id END,
    locked_until = excluded.locked_until,
    status = NULL, headers = NULL, body = NULL,
    created_at   = CASE WHEN k.expires_at <= now() THEN now() ELSE k.created_at END,
    expires_at   = CASE WHEN k.expires_at <= now() THEN excluded.expires_at ELSE k.expires_at END
WHERE k.expires_at <= now() OR (k.status IS NULL AND k.locked_until <= now() AND k.fingerprint = excluded.fingerprint)
RETURNING creation_id;

-- name: GetIdempotencyKey :one
SELECT fingerprint, status, headers, body FROM idempotency_keys
WHERE scope = @scope AND operation = @operation AND key = @key;

-- name: CompleteIdempotencyKey :exec
UPDATE idempotency_keys SET status = @status, headers = @headers, body = @body
WHERE scope = @scope AND operation = @operation AND key = @key AND creation_id = @creation_id;

-- ReleaseIdempotencyKey lets the key be tried again; its creation id stays.
-- name: ReleaseIdempotencyKey :exec
UPDATE idempotency_keys SET locked_until = now()
WHERE scope = @scope AND operation = @operation AND key = @key AND status IS NULL;

-- name: DeleteExpiredIdempotencyKeys :execrows
DELETE FROM idempotency_keys WHERE (scope, operation, key) IN
    (SELECT scope, operation, key FROM idempotency_keys i WHERE i.expires_at <= now() LIMIT 1000);
