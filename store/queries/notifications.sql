-- name: InsertNotification :exec
INSERT INTO notifications (id, agent_id, type, title, body, subject_type, subject_id, data)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: ListNotifications :many
SELECT * FROM notifications
WHERE agent_id = @agent_id
    AND (NOT @unread_only::boolean OR read_at IS NULL)
    AND (sqlc.narg('type')::text IS NULL OR type = sqlc.narg('type'))
    AND (created_at, id) < (@before_at, @before_id::uuid)
ORDER BY created_at DESC, id DESC LIMIT @page_size;

-- name: CountUnread :one
SELECT count(*) FROM notifications WHERE agent_id = $1 AND read_at IS NULL;

-- name: MarkNotificationRead :one
UPDATE notifications SET read_at = coalesce(read_at, now()) WHERE id = @id AND agent_id = @agent_id RETURNING *;

-- name: MarkAllNotificationsRead :execrows
UPDATE notifications SET read_at = now() WHERE agent_id = $1 AND read_at IS NULL;
