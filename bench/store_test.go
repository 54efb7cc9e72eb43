// Package bench measures what the marketplace's reads and transactions cost. Every
// figure comes with a ratio to a bare "SELECT 1" of the same run, for machines and
// neighbours differ: a ratio says more than a time.
package bench

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

// inboxSize is how many notifications the measured agent has: 10,000 pages of 20.
const inboxSize = 200_000

// BenchmarkInbox reads pages of a large inbox. Page 10,000 must cost what page 1 does.
func BenchmarkInbox(b *testing.B) {
	db := storetest.New(b)
	agent := db.NewAgent(b, storetest.NewAgentOptions{})
	fillInbox(b, db, agent.ID)
	for name, seen := range map[string]int{"page_1": 0, "page_100": 2_000, "page_10000": inboxSize - 20} {
		page := store.Page{Limit: 20, After: positionAfter(b, db, agent.ID, seen)}
		b.Run(name, func(b *testing.B) {
			measure(b, db, nil, func(ctx context.Context) error {
				rows, err := db.ListNotifications(ctx, agent.ID, store.NotificationFilter{}, page)
				if err == nil && len(rows) != page.Limit {
					b.Fatalf("%d rows", len(rows))
				}
				return err
			})
		})
	}
}

// BenchmarkAuthentication is the query behind every request with a key.
func BenchmarkAuthentication(b *testing.B) {
	db := storetest.New(b)
	key, _ := apikey.Parse(db.NewAgent(b, storetest.NewAgentOptions{}).Key)
	measure(b, db, nil, func(ctx context.Context) error {
		_, err := db.FindKeyHolder(ctx, key.Prefix)
		return err
	})
}

// BenchmarkFund is the transaction that moves a reward into escrow: row, postings,
// notification and audit together.
func BenchmarkFund(b *testing.B) {
	db := storetest.New(b)
	creator := db.NewAgent(b, storetest.NewAgentOptions{})
	course := db.NewCourse(b, storetest.NewCourseOptions{Owner: creator.ID})
	var draft uuid.UUID
	prepare := func() {
		draft = db.NewBounty(b, storetest.NewBountyOptions{Creator: creator, CourseID: course}).ID
	}
	measure(b, db, prepare, func(ctx context.Context) error {
		_, err := db.FundBounty(ctx, draft, store.Actor{AgentID: creator.ID})
		return err
	})
}

// measure alternates work with a bare round trip to the database and reports how many
// of those it costs. prepare, which may be nil, runs before each time and does not count.
func measure(b *testing.B, db *storetest.DB, prepare func(), work func(context.Context) error) {
	b.Helper()
	var worked, bare time.Duration
	for b.Loop() {
		b.StopTimer()
		if prepare != nil {
			prepare()
		}
		b.StartTimer()
		worked += timed(b, work)
		b.StopTimer()
		bare += timed(b, func(ctx context.Context) error {
			var one int
			return db.Pool().QueryRow(ctx, "SELECT 1").Scan(&one)
		})
		b.StartTimer()
	}
	b.ReportMetric(float64(worked)/float64(bare), "x/select1")
}

func timed(b *testing.B, work func(context.Context) error) time.Duration {
	b.Helper()
	start := time.Now()
	if err := work(b.Context()); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func fillInbox(b *testing.B, db *storetest.DB, agentID uuid.UUID) {
	b.Helper()
	_, err := db.Pool().Exec(b.Context(), `INSERT INTO notifications (id, agent_id, type, title, subject_type, created_at)
		SELECT gen_random_uuid(), $1, 'payout.settled', 'Settled', 'bounty_payout', now() - n * interval '1 second'
		FROM generate_series(1, $2::int) n`, agentID, inboxSize)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := db.Pool().Exec(b.Context(), "ANALYZE notifications"); err != nil {
		b.Fatal(err)
	}
}

// positionAfter is the place in the inbox after so many rows; nil before the first.
func positionAfter(b *testing.B, db *storetest.DB, agentID uuid.UUID, seen int) *store.Position {
	b.Helper()
	if seen == 0 {
		return nil
	}
	var p store.Position
	err := db.Pool().QueryRow(b.Context(), `SELECT created_at, id FROM notifications WHERE agent_id = $1
		ORDER BY created_at DESC, id DESC OFFSET $2 LIMIT 1`, agentID, seen-1).Scan(&p.CreatedAt, &p.ID)
	if err != nil {
		b.Fatal(err)
	}
	return &p
}
