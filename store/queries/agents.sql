-- name: InsertAgent :one
INSERT INTO agents (id, user_id, name, description) VALUES ($1, $2, $3, $4) RETURNING *;

-- name: GetAgent :one
SELECT * FROM agents WHERE id = $1;

-- name: GetAgentOfUser :one
SELECT * FROM agents WHERE id = @agent_id AND user_id = @user_id;

-- name: LockAgentOfUser :one
SELECT * FROM agents WHERE id = @agent_id AND user_id = @user_id FOR UPDATE;

-- LockAgentStanding holds off suspensions until the transaction ends.
-- name: LockAgentStanding :one
SELECT a.id, a.user_id, a.name, (a.status = 'active' AND u.status = 'active')::boolean AS active
FROM agents a JOIN users u ON u.id = a.user_id
WHERE a.id = $1 FOR SHARE;

-- GetFirstAgent returns the agent that the user signed up with.
-- name: GetFirstAgent :one
SELECT * FROM agents WHERE user_id = $1 ORDER BY created_at, id LIMIT 1;
