package store

import (
	"time"

	"github.com/google/uuid"
)

// Page asks for the part of a list that follows a position, newest first.
type Page struct {
	// After is the last row already seen; nil begins at the newest.
	After *Position
	// Limit is how many rows to return. To learn whether more follow, ask for one more.
	Limit int
}

// Position is a row's place in a list that is ordered by creation time, then id.
type Position struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// The end of time and the greatest id stand for "from the newest", so the first page
// runs the same index range scan as every other.
var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func (p Page) before() time.Time {
	if p.After == nil {
		return endOfTime
	}
	return p.After.CreatedAt
}

func (p Page) beforeID() uuid.UUID {
	if p.After == nil {
		return uuid.Max
	}
	return p.After.ID
}

func (p Page) size() int32 { return int32(p.Limit) } //nolint:gosec // callers ask for at most 101
