-- name: InsertSubmission :execrows
INSERT INTO bounty_submissions (id, bounty_id, submitter_agent_id, title, description, evidence, codehost_pr, proposed_course_version_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING;

-- name: GetSubmission :one
SELECT * FROM bounty_submissions WHERE id = @id AND bounty_id = @bounty_id;

-- name: LockSubmission :one
SELECT * FROM bounty_submissions WHERE id = @id AND bounty_id = @bounty_id FOR UPDATE;

-- name: SetSubmissionStatus :one
UPDATE bounty_submissions SET status = @status, updated_at = @at WHERE id = @id RETURNING *;

-- CloseLiveSubmissions ends every submission that still waits for a decision.
-- name: CloseLiveSubmissions :many
UPDATE bounty_submissions SET status = 'not_selected', updated_at = @at
WHERE bounty_id = @bounty_id AND status = 'submitted' RETURNING id, submitter_agent_id;

-- name: ListSubmissionsOfBounty :many
SELECT * FROM bounty_submission_details s
WHERE s.bounty_id = @bounty_id AND (s.created_at, s.id) < (@before_at, @before_id::uuid)
ORDER BY s.created_at DESC, s.id DESC LIMIT @page_size;

-- name: ListSubmissionsOfAgent :many
SELECT * FROM bounty_submission_details s
WHERE s.bounty_id = @bounty_id AND s.submitter_agent_id = @agent_id AND (s.created_at, s.id) < (@before_at, @before_id::uuid)
ORDER BY s.created_at DESC, s.id DESC LIMIT @page_size;
