// Package storetest gives each test a migrated database of its own. The schema is
// built once per version of the migrations, in a template that tests clone, which
// takes some tens of milliseconds.
package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/migrations"
	"github.com/course-marketplace/backend/store"
)

// FeeBasisPoints is the fee of the stores that tests get: 10 %.
const FeeBasisPoints = 1000

// DB is a test's own database.
type DB struct {
	*store.Store
	// URL opens the database for a process of its own.
	URL string
}

// New clones the template, opens a store on it and drops it when the test ends.
// adapt changes the store's options.
func New(t testing.TB, adapt ...func(*store.Options)) *DB {
	t.Helper()
	admin := stacktest.Shared(t).DatabaseURL
	template, err := templateOf(admin)
	if err != nil {
		t.Fatalf("template database: %v", err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := execute(t.Context(), admin, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("clone the template database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := drop(ctx, admin, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	options := store.Options{FeeBasisPoints: FeeBasisPoints, MaxConns: 10}
	for _, change := range adapt {
		change(&options)
	}
	db := &DB{URL: withDatabase(admin, name)}
	if db.Store, err = store.Open(t.Context(), db.URL, options); err != nil {
		t.Fatalf("open the test's database: %v", err)
	}
	t.Cleanup(db.Store.Close)
	return db
}

var (
	templateMu sync.Mutex
	templates  = map[string]string{} // by admin URL
)

// templateOf returns the name of the template database, which is built when it is
// missing. Its name holds a digest of the migrations, so it is never out of date.
func templateOf(admin string) (string, error) {
	templateMu.Lock()
	defer templateMu.Unlock()
	if name, ok := templates[admin]; ok {
		return name, nil
	}
	digest, err := migrationsDigest()
	if err != nil {
		return "", err
	}
	name := "template_" + digest
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := buildTemplate(ctx, admin, name); err != nil {
		return "", err
	}
	templates[admin] = name
	return name, nil
}

// buildTemplate takes turns with other test processes. The template gets its name
// when it is complete: a process that dies halfway leaves none behind.
func buildTemplate(ctx context.Context, admin, name string) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext('storetest template'))"); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return err
	}
	building := name + "_building"
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + building + " WITH (FORCE)", "CREATE DATABASE " + building} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := store.Migrate(ctx, withDatabase(admin, building)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+building+" RENAME TO "+name)
	return err
}

func migrationsDigest() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(migrations.FS, path)
		_, _ = fmt.Fprintf(h, "%s %d\n%s", path, len(content), content)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

func execute(ctx context.Context, admin, statement string) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// drop deletes a database. Only a superuser may end an autovacuum worker that happens to
// be in it; it leaves by itself soon.
func drop(ctx context.Context, admin, name string) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := execute(ctx, admin, "DROP DATABASE "+name+" WITH (FORCE)")
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != insufficientPrivilege {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

const insufficientPrivilege = "42501"

func withDatabase(admin, name string) string {
	u, err := url.Parse(admin)
	if err != nil {
		panic(err) // the stack made it
	}
	u.Path = "/" + name
	return u.String()
}

// RefuseConnections makes the database unreachable for the rest of the test.
func (db *DB) RefuseConnections(t testing.TB) {
	t.Helper()
	admin := stacktest.Shared(t).DatabaseURL
	name := db.Pool().Config().ConnConfig.Database
	for _, statement := range []string{
		"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'",
	} {
		if err := execute(t.Context(), admin, statement); err != nil {
			t.Fatalf("make the database unreachable: %v", err)
		}
	}
}
