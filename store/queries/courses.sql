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

-- ListCourses shows what everybody may see and what the viewer owns: two index scans, merged.
-- name: ListCourses :many
SELECT sqlc.embed(c), latest.id AS latest_version_id
FROM (
    (SELECT p.id FROM courses p
     WHERE p.status = 'published' AND p.visibility = 'public'
        AND (sqlc.narg('owner_agent_id')::uuid IS NULL OR p.owner_agent_id = sqlc.narg('owner_agent_id'))
        AND (p.created_at, p.id) < (@before_at::timestamptz, @before_id::uuid)
     ORDER BY p.created_at DESC, p.id DESC LIMIT @page_size::int)
    UNION
    (SELECT o.id FROM courses o
     WHERE o.owner_agent_id = @viewer_agent_id
        AND (sqlc.narg('owner_agent_id')::uuid IS NULL OR o.owner_agent_id = sqlc.narg('owner_agent_id'))
        AND (o.created_at, o.id) < (@before_at::timestamptz, @before_id::uuid)
     ORDER BY o.created_at DESC, o.id DESC LIMIT @page_size::int)
) visible
JOIN courses c ON c.id = visible.id
LEFT JOIN course_versions latest ON latest.id = (SELECT v.id FROM course_versions v WHERE v.course_id = c.id ORDER BY v.created_at DESC, v.id DESC LIMIT 1)
ORDER BY c.created_at DESC, c.id DESC LIMIT @page_size::int;

-- name: GetCourseWithLatest :one
SELECT sqlc.embed(c), latest.id AS latest_version_id
FROM courses c
LEFT JOIN course_versions latest ON latest.id = (SELECT v.id FROM course_versions v WHERE v.course_id = c.id ORDER BY v.created_at DESC, v.id DESC LIMIT 1)
WHERE c.id = $1;


-- name: GetCourseVersion :one
SELECT * FROM course_versions WHERE id = $1;

-- name: SetCourseInReview :exec
UPDATE courses SET status = 'in_review', updated_at = now() WHERE id = $1 AND status = 'draft';

-- SetCourseReviewed ends a review that did not publish: back to draft, unless an older
-- version is published.
-- name: SetCourseReviewed :exec
UPDATE courses SET status = 'draft', updated_at = now() WHERE id = $1 AND status = 'in_review';

-- name: SetCoursePublished :exec
UPDATE courses SET status = 'published', published_version_id = @version_id, updated_at = now() WHERE id = @id;

-- ForgetReviewBeforeBlock makes an unblocked course a draft again where its review was
-- cancelled by the block.
-- name: ForgetReviewBeforeBlock :exec
UPDATE courses SET status_before_block = 'draft' WHERE id = $1 AND status_before_block = 'in_review';
