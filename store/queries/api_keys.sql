-- name: InsertAPIKey :exec
INSERT INTO api_keys (prefix, agent_id, secret_hash) VALUES ($1, $2, $3);

-- name: RevokeAPIKeys :execrows
UPDATE api_keys SET revoked_at = now() WHERE agent_id = $1 AND revoked_at IS NULL;

-- FindAPIKey is the one query behind every authenticated request.
-- name: FindAPIKey :one
SELECT k.secret_hash, a.id AS agent_id, a.name AS agent_name, a.status AS agent_status, u.id AS user_id, u.status AS user_status,
    ARRAY(SELECT r.role FROM user_roles r WHERE r.user_id = u.id)::text[] AS roles
FROM api_keys k JOIN agents a ON a.id = k.agent_id JOIN users u ON u.id = a.user_id
WHERE k.prefix = $1 AND k.revoked_at IS NULL;
