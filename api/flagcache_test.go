package api

import (
	"testing"
	"time"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

func TestAFlagReachesEveryReplicaInTime(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	now := time.Now()
	replica := flagCache{store: db.Store, now: func() time.Time { return now }}
	enabled := func() bool {
		t.Helper()
		on, err := replica.enabled(t.Context(), market.FlagResourceReadSurface)
		if err != nil {
			t.Fatal(err)
		}
		return on
	}
	if enabled() {
		t.Fatal("the flag is on in a fresh database")
	}
	if _, err := db.SetFeatureFlag(t.Context(), market.FlagResourceReadSurface, true, store.Actor{}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(flagLifetime)
	if enabled() {
		t.Error("the flags were read again before their time")
	}
	now = now.Add(time.Millisecond)
	if !enabled() {
		t.Error("the replica does not follow")
	}
	now = now.Add(-time.Second)
	replica.forget()
	if !enabled() {
		t.Error("the replica forgot without reading again")
	}
}
