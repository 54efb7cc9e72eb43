package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/store"
)

// Housekeeping removes what is of no use to anybody any more.
type Housekeeping struct {
	Store   *store.Store
	Storage *bundle.Storage
	// OrphanAge is how old files without a version must be; bundle.OrphanAge if zero.
	OrphanAge time.Duration
}

// orphanBatch is how many versions are looked up in the database at once.
const orphanBatch = 500

// RemoveOrphanedBundles deletes the files of versions that were never recorded. It
// returns how many such versions there were.
func (a *Housekeeping) RemoveOrphanedBundles(ctx context.Context) (int, error) {
	age := a.OrphanAge
	if age == 0 {
		age = bundle.OrphanAge
	}
	removed := 0
	batch := make([]bundle.StoredVersion, 0, orphanBatch)
	flush := func() error {
		n, err := a.removeUnrecorded(ctx, batch)
		removed += n
		batch = batch[:0]
		return err
	}
	for version, err := range a.Storage.VersionsUntouchedSince(ctx, time.Now().Add(-age)) {
		if err != nil {
			return removed, fail(err)
		}
		if batch = append(batch, version); len(batch) == orphanBatch {
			if err := flush(); err != nil {
				return removed, fail(err)
			}
		}
	}
	return removed, fail(flush())
}

func (a *Housekeeping) removeUnrecorded(ctx context.Context, versions []bundle.StoredVersion) (int, error) {
	ids := make([]uuid.UUID, len(versions))
	for i, v := range versions {
		ids[i] = v.VersionID
	}
	kept, err := a.Store.VersionsKept(ctx, ids)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, v := range versions {
		if kept[v.VersionID] {
			continue
		}
		if _, err := a.Storage.DeletePrefix(ctx, v.Prefix()); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// RemoveExpiredRecords deletes expired idempotency keys, rate limit windows and tickets.
func (a *Housekeeping) RemoveExpiredRecords(ctx context.Context) (int64, error) {
	var total int64
	for {
		removed, err := a.Store.Sweep(ctx)
		total += removed
		if err != nil || removed == 0 {
			return total, fail(err)
		}
	}
}
