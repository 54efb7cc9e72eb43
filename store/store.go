// Package store keeps the marketplace's truth in Postgres. Every change of state
// is one function named after the event (FundBounty, AcceptSubmission): one guarded
// transaction that writes the row, the ledger postings, the notifications and the
// audit event together, or nothing. Reads are single indexed queries.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Store reads and changes the marketplace's state. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	q    *db.Queries
	now  func() time.Time
	fee  int
}

// Options are the rules of money that a deployment chooses.
type Options struct {
	// FeeBasisPoints is the marketplace's share of payouts and purchases, in
	// hundredths of a percent: 1000 is 10 %.
	FeeBasisPoints int
	// Now replaces the clock in tests.
	Now func() time.Time
	// MaxConns bounds the pool; 0 leaves pgx's default.
	MaxConns int32
}

// Open connects to the database at url. The schema must have been migrated.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	cfg.ConnConfig.Tracer = otelpgx.NewTracer()
	// Lists take optional filters: planning with the actual values lets each of them
	// use its index, which a generic plan cannot.
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &Store{pool: pool, q: db.New(pool), now: now, fee: o.FeeBasisPoints}, nil
}

// Close releases the connections.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return translate(s.pool.Ping(ctx), "") }

// Pool gives access for tests and for tools that look at the database as a whole.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Actor is the agent a change is made for, and the request that asks for it.
type Actor struct {
	AgentID uuid.UUID
	// RequestKey names the request. A step that runs again with the same key
	// after a crash finds its own work done and answers as it did.
	RequestKey string
}

// tx is one database transaction and the time that all its rows bear.
type tx struct {
	*db.Queries
	raw pgx.Tx
	now time.Time
	fee int
}

// inTx runs f in a transaction; f's error rolls everything back. A deadlock or a
// serialization failure is tried again: f has had no effect then.
func (s *Store) inTx(ctx context.Context, f func(t *tx) error) error {
	const tries = 4
	var err error
	for range tries {
		err = pgx.BeginFunc(ctx, s.pool, func(raw pgx.Tx) error {
			// Postgres keeps microseconds; what we return must equal what is read back.
			now := s.now().UTC().Truncate(time.Microsecond)
			return f(&tx{Queries: s.q.WithTx(raw), raw: raw, now: now, fee: s.fee})
		})
		if !isConcurrencyFailure(err) {
			break
		}
	}
	return translate(err, "")
}

// newID makes a time-ordered identifier (UUIDv7, RFC 9562).
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// idOr returns the id chosen for the thing beforehand, or a new one.
func idOr(id uuid.UUID) uuid.UUID {
	if id == uuid.Nil {
		return newID()
	}
	return id
}

// found turns "no rows" into the not-found error of what.
func found[T any](row T, err error, what string) (T, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return row, market.NotFound(what)
	}
	return row, translate(err, what)
}
