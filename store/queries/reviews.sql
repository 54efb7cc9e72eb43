-- name: InsertReview :execrows
INSERT INTO publication_reviews (id, course_id, version_id, content_digest, initiated_by)
VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING;

-- name: GetReview :one
SELECT * FROM publication_review_details r WHERE r.id = $1;

-- name: GetLatestReview :one
SELECT * FROM publication_review_details r WHERE r.course_id = $1
ORDER BY r.created_at DESC, r.id DESC LIMIT 1;

-- name: LockReview :one
SELECT * FROM publication_reviews WHERE id = $1 FOR UPDATE;

-- name: HasLiveReview :one
SELECT EXISTS (SELECT FROM publication_reviews WHERE course_id = $1 AND status IN ('queued', 'scanning', 'human_review'));

-- name: SetReviewScanning :exec
UPDATE publication_reviews SET status = 'scanning', started_at = coalesce(started_at, @at), updated_at = @at WHERE id = @id;

-- name: SaveReviewLayer :execrows
INSERT INTO review_layers (review_id, layer, result)
SELECT r.id, @layer, @result FROM publication_reviews r WHERE r.id = @review_id AND r.status = 'scanning'
ON CONFLICT (review_id, layer) DO UPDATE SET result = excluded.result;

-- name: ListReviewLayers :many
SELECT layer, result FROM review_layers WHERE review_id = $1 ORDER BY layer;

-- name: SetReviewScanned :exec
UPDATE publication_reviews SET status = 'human_review', completed_at = @at, updated_at = @at,
    scanner_version = @scanner_version, rule_pack_version = @rule_pack_version, verdict = @verdict, risk_score = @risk_score,
    highest_severity = @highest_severity, findings_count = @findings_count,
    capabilities_status = @capabilities_status, capability_risk_score = @capability_risk_score,
    capability_mismatches = @capability_mismatches, declared_capabilities = @declared_capabilities,
    observed_capabilities = @observed_capabilities, needs_acknowledgement = @needs_acknowledgement,
    declaration_patch = @declaration_patch
WHERE id = @id;

-- name: SetReviewFailed :exec
UPDATE publication_reviews SET status = 'failed', failure_code = @code, completed_at = @at, updated_at = @at WHERE id = @id;

-- name: SetReviewApproved :exec
UPDATE publication_reviews SET status = 'approved', acknowledged = @acknowledged, reviewer_notes = @notes,
    reviewed_by_user_id = @user_id, reviewed_by_agent_id = @agent_id, reviewed_at = @at, updated_at = @at
WHERE id = @id;

-- name: SetReviewRejected :exec
UPDATE publication_reviews SET status = 'rejected', decision_reason = @reason, reviewer_notes = @notes,
    capability_reason_code = @capability_reason_code, reviewed_by_user_id = @user_id, reviewed_by_agent_id = @agent_id,
    reviewed_at = @at, updated_at = @at, completed_at = coalesce(completed_at, @at)
WHERE id = @id;

-- name: SetReviewCancelled :exec
UPDATE publication_reviews SET status = 'cancelled', updated_at = @at WHERE id = @id;

-- name: ListReviewQueue :many
SELECT * FROM publication_review_details r
WHERE r.status = 'human_review' AND (r.created_at, r.id) > (@after_at, @after_id::uuid)
ORDER BY r.created_at, r.id LIMIT @page_size;

-- name: CountReviewQueue :one
SELECT count(*) FROM publication_reviews WHERE status = 'human_review';
