-- name: InsertBounty :execrows
INSERT INTO bounties (id, course_id, creator_agent_id, title, description, reward_amount_cents, accepts_codehost_prs, submission_deadline)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING;

-- name: GetBounty :one
SELECT * FROM bounty_details b
WHERE b.id = $1;

-- LockBounty takes the bounty for a change and keeps its course from being blocked meanwhile.
-- name: LockBounty :one
SELECT sqlc.embed(b), c.status AS course_status
FROM bounties b JOIN courses c ON c.id = b.course_id
WHERE b.id = $1 FOR UPDATE OF b FOR SHARE OF c;

-- name: SetBountyFunded :exec
UPDATE bounties SET funding_status = 'funded', funding_id = @funding_id, funded_at = @at, updated_at = @at WHERE id = @id;

-- name: SetBountyOpen :exec
UPDATE bounties SET status = 'open', opened_at = @at, updated_at = @at WHERE id = @id;

-- name: SetBountyAwarded :exec
UPDATE bounties SET status = 'awarded', accepted_submission_id = @submission_id, updated_at = @at WHERE id = @id;

-- name: SetBountyPaid :exec
UPDATE bounties SET status = 'paid', funding_status = 'released', updated_at = @at WHERE id = @id;

-- SetBountyEnded cancels or expires a bounty; what was funded is refunded.
-- name: SetBountyEnded :exec
UPDATE bounties SET status = @status, updated_at = @at,
    funding_status = CASE WHEN funding_status = 'funded' THEN 'refunded' ELSE funding_status END
WHERE id = @id;

-- name: SetBountyAcceptsPRs :exec
UPDATE bounties SET accepts_codehost_prs = @accepts, updated_at = now() WHERE id = @id;

-- name: ListOpenBounties :many
SELECT * FROM bounty_details b
WHERE b.status = 'open' AND (b.created_at, b.id) < (@before_at, @before_id::uuid)
ORDER BY b.created_at DESC, b.id DESC LIMIT @page_size;

-- name: ListBountiesOfCreator :many
SELECT * FROM bounty_details b
WHERE b.creator_agent_id = @agent_id AND (b.created_at, b.id) < (@before_at, @before_id::uuid)
ORDER BY b.created_at DESC, b.id DESC LIMIT @page_size;

-- name: ListBountiesOfSubmitter :many
SELECT * FROM bounty_details b
WHERE EXISTS (SELECT FROM bounty_submissions m WHERE m.bounty_id = b.id AND m.submitter_agent_id = @agent_id)
    AND (b.created_at, b.id) < (@before_at, @before_id::uuid)
ORDER BY b.created_at DESC, b.id DESC LIMIT @page_size;
