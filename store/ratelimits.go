package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/course-marketplace/backend/store/db"
)

// Limit is at most Max hits in a window of Period that begins with its first hit.
// The zero value is no limit.
type Limit struct {
	Max    int
	Period time.Duration
}

// Window is how a limit stands after a hit.
type Window struct {
	Limit    Limit
	Hits     int
	ResetsIn time.Duration
}

// Exceeded reports whether the hit was one too many.
func (w Window) Exceeded() bool { return w.Limit.Max > 0 && w.Hits > w.Limit.Max }

// Remaining is how many more hits the window allows.
func (w Window) Remaining() int { return max(0, w.Limit.Max-w.Hits) }

// HitLimit counts one hit on the bucket. The counters live in the database, so a limit
// holds over all replicas and restarts.
func (s *Store) HitLimit(ctx context.Context, bucket string, limit Limit) (Window, error) {
	w, err := hitLimit(ctx, s.q, bucket, limit)
	return w, translate(err, "")
}

func hitLimit(ctx context.Context, q *db.Queries, bucket string, limit Limit) (Window, error) {
	if limit.Max <= 0 {
		return Window{}, nil
	}
	row, err := q.HitRateLimit(ctx, db.HitRateLimitParams{
		Bucket: bucket, Period: interval(limit.Period), MaxHits: int32(limit.Max), //nolint:gosec // limits are small
	})
	if err != nil {
		return Window{}, err
	}
	return Window{Limit: limit, Hits: int(row.Hits), ResetsIn: time.Duration(row.ResetsInSeconds * float64(time.Second))}, nil
}

func interval(d time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: d.Microseconds(), Valid: true}
}
