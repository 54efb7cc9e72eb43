-- HitRateLimit counts one hit in a window that begins with its first hit. A hit
-- beyond the limit is not counted, so waiting always helps.
-- name: HitRateLimit :one
INSERT INTO rate_limits AS r (bucket, hits, resets_at) VALUES (@bucket, 1, now() + @period::interval)
ON CONFLICT (bucket) DO UPDATE SET
    hits      = CASE WHEN r.resets_at <= now() THEN 1 ELSE least(r.hits, @max_hits::int) + 1 END,
    resets_at = CASE WHEN r.resets_at <= now() THEN now() + @period::interval ELSE r.resets_at END
RETURNING hits, extract(epoch FROM resets_at - now())::double precision AS resets_in_seconds;

-- name: DeleteExpiredRateLimits :execrows
DELETE FROM rate_limits WHERE bucket IN (SELECT bucket FROM rate_limits r WHERE r.resets_at <= now() LIMIT 1000);
