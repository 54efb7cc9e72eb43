package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	postgresAdmin    = "postgres"    // the superuser, for the tests' own databases and for faults
	postgresOwner    = "marketplace" // the role of the product; may create databases
	postgresDatabase = "marketplace"
	// maxConnections allows for the pools of many test processes at once.
	maxConnections = "300"
)

func (s *Stack) postgresURL(user, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: loopback(s.Ports.Postgres), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

func (s *Stack) postgresCommand(ctx context.Context) (Command, error) {
	programs, home, err := s.preparePostgres(ctx)
	if err != nil {
		return Command{}, err
	}
	argv := []string{
		programs.path("postgres"), "-D", home.data(), "-p", strconv.Itoa(s.Ports.Postgres),
		"-c", "listen_addresses=127.0.0.1",
		// No socket file: its path has a length limit, and nobody needs it.
		"-c", "unix_socket_directories=",
		"-c", "max_connections=" + maxConnections,
		"-c", "timezone=UTC",
	}
	if s.options.Volatile {
		argv = append(argv, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	return Command{
		Name: PartPostgres, Argv: argv, Dir: home.dir, Grace: 20 * time.Second, Ready: s.postgresReady,
		credential: home.credential,
		// postgres(1): SIGINT is the fast shutdown, which ends sessions first;
		// SIGQUIT the immediate one, after which the next start recovers.
		stop: syscall.SIGINT, kill: syscall.SIGQUIT,
	}, nil
}

// preparePostgres finds the server, installs it where it is missing and may be,
// and makes the database cluster where there is none.
func (s *Stack) preparePostgres(ctx context.Context) (postgresPrograms, postgresHome, error) {
	if len(installedPostgres(ctx)) == 0 {
		if err := installPostgres(ctx, s.progress); err != nil {
			return postgresPrograms{}, postgresHome{}, err
		}
	}
	// After the installation, which makes the user that Postgres runs as.
	home, err := preparePostgresHome(s.dir, s.progress)
	if err != nil {
		return postgresPrograms{}, home, err
	}
	programs, err := findPostgres(ctx, home.data())
	if err != nil {
		return programs, home, err
	}
	if _, err := os.Stat(home.data()); errors.Is(err, os.ErrNotExist) {
		return programs, home, s.initCluster(ctx, programs, home)
	}
	return programs, home, nil
}

// initCluster makes the cluster beside its place and then moves it there, so that
// one that was interrupted is never mistaken for a whole one.
func (s *Stack) initCluster(ctx context.Context, programs postgresPrograms, home postgresHome) error {
	end := s.progress.step(PartPostgres, "initialising the database")
	defer end("")
	unfinished := filepath.Join(home.dir, "data.new")
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	passwordFile := filepath.Join(home.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(s.secrets.PostgresAdminPassword), 0o600); err != nil {
		return err
	}
	defer os.Remove(passwordFile)
	attr := &syscall.SysProcAttr{Credential: home.credential}
	if home.credential != nil {
		if err := os.Chown(passwordFile, int(home.credential.Uid), int(home.credential.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, programs.path("initdb"), "--pgdata", unfinished, "--username", postgresAdmin,
		"--pwfile", passwordFile, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", unicodeLocale(), "--no-instructions", "--no-sync")
	cmd.Dir = home.dir
	cmd.SysProcAttr = attr
	cmd.Env = withoutPostgresVariables(os.Environ())
	if err := runToEnd(cmd); err != nil {
		return err
	}
	return os.Rename(unfinished, home.data())
}

// unicodeLocale sorts by code point and knows the case of every letter.
func unicodeLocale() string {
	if runtime.GOOS == "darwin" {
		return "en_US.UTF-8"
	}
	return "C.UTF-8"
}

func withoutPostgresVariables(env []string) []string {
	var kept []string
	for _, variable := range env {
		if !strings.HasPrefix(variable, "PG") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// endOrphans stops what an earlier stack in dir left behind: a server that is
// still ending after its parent was killed, or, where the kernel doesn't end
// children with their parent, one that runs on.
func endOrphans(ctx context.Context, dir string) error {
	return errors.Join(
		endOrphan(ctx, postgresHome{dir: insideDir(dir)}.data()),
		endOrphan(ctx, postgresHome{dir: outsideDir(dir)}.data()),
	)
}

// endOrphan stops the server on data, if there is one. It clears away the pid file
// of one that is gone: the number may by now be another process's, which Postgres
// would take for a running server.
func endOrphan(ctx context.Context, data string) error {
	pidFile := filepath.Join(data, "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	firstLine, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(firstLine)
	if err != nil || !isPostgresOf(ctx, pid, data) {
		return removeIfThere(pidFile)
	}
	_ = syscall.Kill(pid, syscall.SIGINT) // an error means that it has ended meanwhile
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return poll(ctx, func(ctx context.Context) error {
		if isPostgresOf(ctx, pid, data) {
			return fmt.Errorf("an earlier Postgres (pid %d) still runs in %s", pid, data)
		}
		return removeIfThere(pidFile)
	})
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func isPostgresOf(ctx context.Context, pid int, data string) bool {
	output, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(output), data)
}

// postgresReady waits until the server takes connections and makes the product's
// role and database where they are missing.
func (s *Stack) postgresReady(ctx context.Context) error {
	var conn *pgx.Conn
	err := poll(ctx, func(ctx context.Context) error {
		var err error
		conn, err = pgx.Connect(ctx, s.AdminDatabaseURL)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == "28P01" {
			return &permanentError{fmt.Errorf("the password in secrets.json is not the database's (begin anew with --reset): %w", err)}
		}
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return s.createOwner(ctx, conn)
}

func (s *Stack) createOwner(ctx context.Context, conn *pgx.Conn) error {
	var hasRole, hasDatabase bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1), EXISTS (SELECT FROM pg_database WHERE datname = $2)`,
		postgresOwner, postgresDatabase).Scan(&hasRole, &hasDatabase)
	if err != nil {
		return err
	}
	if !hasRole {
		// The password consists of letters and digits: nothing to quote.
		if _, err := conn.Exec(ctx, fmt.Sprintf(`CREATE ROLE %s LOGIN CREATEDB PASSWORD '%s'`, postgresOwner, s.secrets.PostgresPassword)); err != nil {
			return err
		}
	}
	if !hasDatabase {
		_, err = conn.Exec(ctx, fmt.Sprintf(`CREATE DATABASE %s OWNER %s`, postgresDatabase, postgresOwner))
	}
	return err
}
