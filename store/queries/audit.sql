-- name: InsertAudit :exec
INSERT INTO audit_events (action, subject_type, subject_id, actor_agent_id, request_key, data)
VALUES ($1, $2, $3, $4, $5, $6);

-- name: WasDone :one
SELECT EXISTS (SELECT FROM audit_events WHERE subject_id = $1 AND action = $2 AND request_key = $3);

