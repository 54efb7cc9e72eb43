-- name: InsertUser :one
INSERT INTO users (id, email, mailbox, name, password_hash) VALUES ($1, $2, $3, $4, $5) RETURNING *;

-- name: GetUser :one
SELECT * FROM users WHERE id = $1;

-- LockUserStanding holds off a suspension until the transaction ends.
-- name: LockUserStanding :one
SELECT id, status FROM users WHERE id = $1 FOR SHARE;

-- name: FindUserByEmail :one
SELECT * FROM users WHERE lower(email) = lower(@email);

-- name: GrantRole :execrows
INSERT INTO user_roles (user_id, role) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: RevokeRole :execrows
DELETE FROM user_roles WHERE user_id = $1 AND role = $2;

-- name: ListUserRoles :many
SELECT role FROM user_roles WHERE user_id = $1 ORDER BY role;
