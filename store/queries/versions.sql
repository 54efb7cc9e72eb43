-- name: InsertCourseVersion :execrows
INSERT INTO course_versions (id, course_id, version, content_digest, size_bytes, main_file)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING;

-- name: InsertCourseVersionFiles :copyfrom
INSERT INTO course_version_files (version_id, path, role, content_type, size_bytes, sha256)
VALUES ($1, $2, $3, $4, $5, $6);

-- name: VersionTaken :one
SELECT EXISTS (SELECT FROM course_versions WHERE course_id = $1 AND version = $2);

-- name: ListCourseVersions :many
SELECT * FROM course_versions
WHERE course_id = @course_id AND (created_at, id) < (@before_at, @before_id::uuid)
ORDER BY created_at DESC, id DESC LIMIT @page_size;

-- name: ListCourseVersionFiles :many
SELECT * FROM course_version_files WHERE version_id = ANY(@version_ids::uuid[]) ORDER BY version_id, path COLLATE "C";

-- name: GetLatestCourseVersion :one
SELECT * FROM course_versions WHERE course_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1;

-- name: SetCourseVersionStatus :exec
UPDATE course_versions SET status = $2 WHERE id = $1;

-- name: ExistingCourseVersions :many
SELECT id FROM course_versions WHERE id = ANY(@ids::uuid[]);

-- name: InsertFileTickets :copyfrom
INSERT INTO file_tickets (token_hash, version_id, path, issued_to, expires_at) VALUES ($1, $2, $3, $4, $5);

-- name: FindFileTicket :one
SELECT t.used_at, t.expires_at, v.course_id, sqlc.embed(f)
FROM file_tickets t JOIN course_version_files f ON f.version_id = t.version_id AND f.path = t.path
    JOIN course_versions v ON v.id = t.version_id
WHERE t.token_hash = $1;

-- ConsumeFileTicket is the one GET that a ticket allows.
-- name: ConsumeFileTicket :execrows
UPDATE file_tickets SET used_at = now() WHERE token_hash = $1 AND used_at IS NULL AND expires_at > now();

-- name: DeleteExpiredFileTickets :execrows
DELETE FROM file_tickets WHERE token_hash IN
    (SELECT token_hash FROM file_tickets x WHERE x.expires_at <= now() - interval '1 day' LIMIT 10000);
