package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/store/db"
)

// IdempotencyKey is a caller's key for one request: the caller, the operation, the key.
type IdempotencyKey struct {
	Scope, Operation, Key string
}

// IdempotencyClaim is the right to do a request's work.
type IdempotencyClaim struct {
	// CreationID is the id of the thing that the request creates, the same each time
	// the work is begun.
	CreationID  uuid.UUID
	key         IdempotencyKey
	lockedUntil time.Time
}

// KeptAnswer is what is known of a key that was used before. Status is 0 until the
// request has been answered. Fingerprint, Headers and Body are as they were given.
type KeptAnswer struct {
	Fingerprint []byte
	Status      int
	Headers     json.RawMessage
	Body        []byte
}

// ClaimIdempotencyKey takes a key that was not used within its lifetime, for as long as
// lease. If it was used, the claim is nil and what is known of the key is returned.
func (s *Store) ClaimIdempotencyKey(ctx context.Context, k IdempotencyKey, fingerprint []byte, lease, lifetime time.Duration) (*IdempotencyClaim, KeptAnswer, error) {
	row, err := s.q.ClaimIdempotencyKey(ctx, db.ClaimIdempotencyKeyParams{
		Scope: k.Scope, Operation: k.Operation, Key: k.Key, Fingerprint: fingerprint,
		CreationID: newID(), Lease: interval(lease), Lifetime: interval(lifetime),
	})
	if err == nil {
		return &IdempotencyClaim{CreationID: row.CreationID, key: k, lockedUntil: row.LockedUntil}, KeptAnswer{}, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return nil, KeptAnswer{}, translate(err, "")
	}
	kept, err := s.q.GetIdempotencyKey(ctx, db.GetIdempotencyKeyParams{Scope: k.Scope, Operation: k.Operation, Key: k.Key})
	if errors.Is(err, pgx.ErrNoRows) {
		// It expired and was swept between the two statements: it is free now.
		return s.ClaimIdempotencyKey(ctx, k, fingerprint, lease, lifetime)
	}
	if err != nil {
		return nil, KeptAnswer{}, translate(err, "")
	}
	answer := KeptAnswer{Fingerprint: kept.Fingerprint, Headers: kept.Headers, Body: kept.Body}
	if kept.Status != nil {
		answer.Status = int(*kept.Status)
	}
	return nil, answer, nil
}

// TakeOverIdempotencyKey takes a key whose earlier holder gave it back or died without
// an answer. It returns nil while somebody holds it.
func (s *Store) TakeOverIdempotencyKey(ctx context.Context, k IdempotencyKey, lease time.Duration) (*IdempotencyClaim, error) {
	row, err := s.q.TakeOverIdempotencyKey(ctx, db.TakeOverIdempotencyKeyParams{
		Scope: k.Scope, Operation: k.Operation, Key: k.Key, Lease: interval(lease),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // held by another is no failure
	}
	if err != nil {
		return nil, translate(err, "")
	}
	return &IdempotencyClaim{CreationID: row.CreationID, key: k, lockedUntil: row.LockedUntil}, nil
}

// CompleteIdempotencyKey keeps the answer for whoever sends the request again.
func (s *Store) CompleteIdempotencyKey(ctx context.Context, c *IdempotencyClaim, status int, headers json.RawMessage, body []byte) error {
	kept := int32(status) //nolint:gosec // an HTTP status
	return translate(s.q.CompleteIdempotencyKey(ctx, db.CompleteIdempotencyKeyParams{
		Status: &kept, Headers: headers, Body: body,
		Scope: c.key.Scope, Operation: c.key.Operation, Key: c.key.Key, LockedUntil: c.lockedUntil,
	}), "")
}

// ReleaseIdempotencyKey gives a key back whose request was not fulfilled.
func (s *Store) ReleaseIdempotencyKey(ctx context.Context, c *IdempotencyClaim) error {
	return translate(s.q.ReleaseIdempotencyKey(ctx, db.ReleaseIdempotencyKeyParams{
		Scope: c.key.Scope, Operation: c.key.Operation, Key: c.key.Key, LockedUntil: c.lockedUntil,
	}), "")
}

// Sweep deletes a batch of expired idempotency keys, rate limit windows and file
// tickets. It returns how many rows went; none means that all are gone.
func (s *Store) Sweep(ctx context.Context) (int64, error) {
	var total int64
	for _, sweep := range []func(context.Context) (int64, error){s.q.DeleteExpiredIdempotencyKeys, s.q.DeleteExpiredRateLimits, s.q.DeleteExpiredFileTickets} {
		n, err := sweep(ctx)
		if err != nil {
			return total, translate(err, "")
		}
		total += n
	}
	return total, nil
}
