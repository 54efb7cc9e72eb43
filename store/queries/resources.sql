-- UpsertCourseResource makes a published course part of the catalog, or brings it up to date.
-- name: UpsertCourseResource :one
INSERT INTO resources (id, resource_type, identifier, slug, title, summary, visibility, course_id, owner_agent_id, price_cents,
    capabilities_status, capability_risk_score)
VALUES ($1, 'course', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (course_id) DO UPDATE SET title = excluded.title, summary = excluded.summary, visibility = excluded.visibility,
    price_cents = excluded.price_cents, capabilities_status = excluded.capabilities_status,
    capability_risk_score = excluded.capability_risk_score, lifecycle_status = 'active', updated_at = now()
RETURNING id;

-- name: InsertResourceVersion :exec
INSERT INTO resource_versions (id, resource_id, version, content_digest, size_bytes, course_version_id, published_at)
VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: SetLatestResourceVersion :exec
UPDATE resources SET latest_version_id = @version_id, updated_at = now() WHERE id = @id;

-- name: InsertDistribution :exec
INSERT INTO distributions (id, version_id, channel, content_digest) VALUES ($1, $2, $3, $4);


