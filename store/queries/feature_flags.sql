-- name: ListFeatureFlags :many
SELECT * FROM feature_flags ORDER BY key;

-- name: SetFeatureFlag :one
UPDATE feature_flags SET enabled = $2, updated_at = now() WHERE key = $1 RETURNING *;

