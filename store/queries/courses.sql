-- name: InsertCourse :one
INSERT INTO courses (id, slug, title, summary, visibility, price_cents, owner_agent_id, codehost_repository, codehost_base_branch)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO NOTHING
RETURNING *;

-- name: GetCourse :one
SELECT * FROM courses WHERE id = $1;

-- name: SlugTaken :one
SELECT EXISTS (SELECT FROM courses WHERE slug = $1);

-- name: LockCourse :one
SELECT * FROM courses WHERE id = $1 FOR UPDATE;

-- name: ListCoursesOfOwner :many
SELECT * FROM courses
WHERE owner_agent_id = @owner_agent_id AND (created_at, id) < (@before_at, @before_id::uuid)
ORDER BY created_at DESC, id DESC LIMIT @page_size;

-- name: ListPublicCourses :many
SELECT * FROM courses
WHERE status = 'published' AND visibility = 'public' AND (created_at, id) < (@before_at, @before_id::uuid)
ORDER BY created_at DESC, id DESC LIMIT @page_size;

-- name: GetLatestVersionID :one
SELECT id FROM course_versions WHERE course_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1;

-- name: GetCourseVersion :one
SELECT * FROM course_versions WHERE id = $1;
