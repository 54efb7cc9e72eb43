package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
	"github.com/course-marketplace/backend/store/storetest"
)

// explainer runs queries and keeps the plans that Postgres has for them.
type explainer struct {
	db.DBTX
	t     *testing.T
	plans []plan
}

type plan struct {
	NodeType string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Plans    []plan `json:"Plans"`
}

func (e *explainer) explain(ctx context.Context, sql string, args []any) {
	e.t.Helper()
	var raw []byte
	if err := e.DBTX.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+sql, args...).Scan(&raw); err != nil {
		e.t.Fatalf("explain: %v\n%s", err, sql)
	}
	var explained []struct{ Plan plan }
	if err := json.Unmarshal(raw, &explained); err != nil {
		e.t.Fatal(err)
	}
	e.plans = append(e.plans, explained[0].Plan)
}

func (e *explainer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	e.explain(ctx, sql, args)
	return e.DBTX.Query(ctx, sql, args...)
}

func (e *explainer) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	e.explain(ctx, sql, args)
	return e.DBTX.QueryRow(ctx, sql, args...)
}

func (e *explainer) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	e.explain(ctx, sql, args)
	return e.DBTX.Exec(ctx, sql, args...)
}

// TestListsReadAnIndexInOrder shows that every page of every list is one range of an
// index in the list's own order: nothing is scanned whole and nothing is sorted, so page
// ten thousand costs what page one does. Planning is told to avoid scans and sorts at any
// price: those that are left cannot be avoided.
func TestListsReadAnIndexInOrder(t *testing.T) {
	t.Parallel()
	agent, other := uuid.New(), uuid.New()
	at, id := time.Now(), uuid.New()
	status, kind := string(market.PayoutFailed), string(market.NotifyPayoutSettled)
	lists := map[string]func(context.Context, *db.Queries) error{
		"open bounties": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListOpenBounties(ctx, db.ListOpenBountiesParams{BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"my bounties": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListBountiesOfCreator(ctx, db.ListBountiesOfCreatorParams{AgentID: agent, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"submissions of a bounty": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListSubmissionsOfBounty(ctx, db.ListSubmissionsOfBountyParams{BountyID: other, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"payouts": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListPayouts(ctx, db.ListPayoutsParams{BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"failed payouts": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListPayouts(ctx, db.ListPayoutsParams{Status: &status, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"inbox": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListNotifications(ctx, db.ListNotificationsParams{AgentID: agent, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"unread inbox": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListNotifications(ctx, db.ListNotificationsParams{AgentID: agent, UnreadOnly: true, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"inbox of a type": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListNotifications(ctx, db.ListNotificationsParams{AgentID: agent, Type: &kind, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"credit entries": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListCreditEntries(ctx, db.ListCreditEntriesParams{AccountID: agent, BeforeID: 1000, PageSize: 21})
			return err
		},
		"versions of a course": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListCourseVersions(ctx, db.ListCourseVersionsParams{CourseID: other, BeforeAt: at, BeforeID: id, PageSize: 21})
			return err
		},
		"review queue": func(ctx context.Context, q *db.Queries) error {
			_, err := q.ListReviewQueue(ctx, db.ListReviewQueueParams{AfterAt: at, AfterID: id, PageSize: 21})
			return err
		},
		"one API key": func(ctx context.Context, q *db.Queries) error {
			_, err := q.FindAPIKey(ctx, "cmk_aaaaaaaa")
			return ignoreNoRows(err)
		},
	}
	conn := onlyIndexes(t)
	for name, list := range lists {
		e := &explainer{DBTX: conn, t: t}
		if err := list(t.Context(), db.New(e)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range e.plans {
			refuse(t, name, p)
		}
	}
}

// onlyIndexes is a connection whose planner scans and sorts only where there is no other way.
func onlyIndexes(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), storetest.New(t).Pool().Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	for _, setting := range []string{"enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_incremental_sort", "enable_hashjoin", "enable_mergejoin"} {
		if _, err := conn.Exec(t.Context(), "SET "+setting+" = off"); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

func refuse(t *testing.T, name string, p plan) {
	t.Helper()
	switch p.NodeType {
	case "Seq Scan", "Sort", "Incremental Sort", "Bitmap Heap Scan":
		t.Errorf("%s: %s %s", name, p.NodeType, p.Relation)
	}
	for _, child := range p.Plans {
		refuse(t, name, child)
	}
}

func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
