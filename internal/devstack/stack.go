package devstack

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// The parts that every stack runs.
const (
	PartPostgres = "postgres"
	PartTemporal = "temporal"
	PartS3       = "s3"
)

// readyTimeout is how long a part may take to become ready once it is started.
const readyTimeout = 90 * time.Second

// Options say how to run a stack.
type Options struct {
	// Dir holds everything the stack keeps. It is made where it is missing.
	Dir string
	// PortBase is the first of the ports (see Ports). 0 picks free ones, the
	// same as at the last start in Dir as far as they are still free.
	PortBase int
	// Reset begins anew: what earlier stacks kept in Dir is deleted.
	Reset bool
	// Volatile gives up durability for speed: a crash of the machine, though not
	// of a process, may then ruin the database. For tests.
	Volatile bool
	// Output receives progress lines and echoed output; nil discards them.
	Output io.Writer
}

// Endpoints are where the parts of a running stack are reached.
type Endpoints struct {
	// DatabaseURL is the product's database, as its owner, who may create more.
	DatabaseURL string `json:"database_url"`
	// AdminDatabaseURL is the database "postgres", as superuser.
	AdminDatabaseURL string `json:"admin_database_url"`
	TemporalAddress  string `json:"temporal_address"`
	Namespace        string `json:"namespace"`
	TemporalUIURL    string `json:"temporal_ui_url"`
	// CodecURL is where the Temporal UI asks for payloads to be decoded. The
	// product serves it, not the stack.
	CodecURL string `json:"codec_url"`
	S3       S3     `json:"s3"`
	Ports    Ports  `json:"ports"`
}

// Environ returns the settings (see package config) with which the product's
// processes use this stack and listen on its ports.
func (e Endpoints) Environ() []string {
	api := loopback(e.Ports.API)
	return []string{
		"MARKETPLACE_ENV=development",
		"MARKETPLACE_LISTEN_ADDR=" + api,
		"MARKETPLACE_PUBLIC_URL=http://" + api,
		"MARKETPLACE_DATABASE_URL=" + e.DatabaseURL,
		"MARKETPLACE_TEMPORAL_ADDRESS=" + e.TemporalAddress,
		"MARKETPLACE_TEMPORAL_NAMESPACE=" + e.Namespace,
		"MARKETPLACE_TEMPORAL_UI_URL=" + e.TemporalUIURL,
		"MARKETPLACE_CODEC_ADDR=" + loopback(e.Ports.Codec),
		"MARKETPLACE_CODEC_ALLOWED_ORIGINS=" + e.TemporalUIURL + ",http://localhost:" + strconv.Itoa(e.Ports.TemporalUI),
		"MARKETPLACE_S3_ENDPOINT=" + e.S3.Endpoint,
		"MARKETPLACE_S3_REGION=" + e.S3.Region,
		"MARKETPLACE_S3_BUCKET=" + e.S3.Bucket,
		"MARKETPLACE_S3_ACCESS_KEY=" + e.S3.AccessKey,
		"MARKETPLACE_S3_SECRET_KEY=" + e.S3.SecretKey,
		"MARKETPLACE_S3_PATH_STYLE=true",
	}
}

// Stack is a running set of processes. Its methods may be called from any
// goroutine.
type Stack struct {
	Endpoints

	options  Options
	dir      string
	lock     io.Closer
	secrets  secrets
	progress *progress

	mu       sync.Mutex
	parts    []*part // in the order in which they were started
	stopping bool
	failure  error         // the first unexpected end of a part
	failed   chan struct{} // closed with failure set
	stopped  sync.Once
}

// part is a command and the process that runs it at the moment.
type part struct {
	command Command
	process *process
}

// Start runs Postgres, Temporal and the S3 gateway and returns once all three are
// ready. ctx bounds the start only. Where it fails, nothing stays running.
//
// It returns an *AlreadyRunningError where a stack runs in the directory, and a
// *PortBusyError, possibly joined with more, before anything is started.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s, err := open(ctx, options)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, describe := range []func(context.Context) (Command, error){s.postgresCommand, s.temporalCommand, s.s3Command} {
		group.Go(func() error {
			command, err := describe(ctx)
			if err != nil {
				return err
			}
			return s.Run(ctx, command)
		})
	}
	if err := group.Wait(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// open takes the directory and settles everything that is needed before a process
// can be started.
func open(ctx context.Context, options Options) (*Stack, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if options.Output == nil {
		options.Output = io.Discard
	}
	lock, ok, err := tryLock(lockFile(dir))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &AlreadyRunningError{Dir: dir, PID: lockHolder(lockFile(dir))}
	}
	s := &Stack{options: options, dir: dir, lock: lock, progress: &progress{out: options.Output}, failed: make(chan struct{})}
	if err := s.settle(ctx); err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

func lockFile(dir string) string { return filepath.Join(dir, "lock") }

func (s *Stack) settle(ctx context.Context) error {
	if err := endOrphans(ctx, s.dir); err != nil {
		return err
	}
	ports, err := choosePorts(s.dir, s.options.PortBase)
	if err != nil {
		return err
	}
	if s.options.Reset {
		if err := removeData(s.dir); err != nil {
			return err
		}
	}
	if s.secrets, err = loadSecrets(s.dir); err != nil {
		return err
	}
	// Logs tell of this start; those of the one before are gone.
	if err := os.RemoveAll(s.logDir()); err != nil {
		return err
	}
	if err := os.MkdirAll(s.logDir(), 0o700); err != nil {
		return err
	}
	s.Ports = ports
	s.Endpoints = s.endpoints()
	return nil
}

func (s *Stack) logDir() string { return filepath.Join(s.dir, "logs") }

func (s *Stack) endpoints() Endpoints {
	return Endpoints{
		DatabaseURL:      s.postgresURL(postgresOwner, s.secrets.PostgresPassword, postgresDatabase),
		AdminDatabaseURL: s.postgresURL(postgresAdmin, s.secrets.PostgresAdminPassword, "postgres"),
		TemporalAddress:  loopback(s.Ports.Temporal),
		Namespace:        Namespace,
		TemporalUIURL:    "http://" + loopback(s.Ports.TemporalUI),
		CodecURL:         "http://" + loopback(s.Ports.Codec),
		S3: S3{
			Endpoint: "http://" + loopback(s.Ports.S3), Region: s3Region, Bucket: s3Bucket,
			AccessKey: s.secrets.S3AccessKey, SecretKey: s.secrets.S3SecretKey,
		},
		Ports: s.Ports,
	}
}

// removeData deletes what stacks keep in dir, and nothing else that is in it.
func removeData(dir string) error {
	var errs []error
	for _, path := range []string{
		insideDir(dir), outsideDir(dir), filepath.Join(dir, "temporal"),
		filepath.Join(dir, "s3"), filepath.Join(dir, "secrets.json"),
	} {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// Failed is closed when a part has ended unexpectedly; Err then tells which.
func (s *Stack) Failed() <-chan struct{} { return s.failed }

// Err returns a *CrashError once a part has ended unexpectedly, else nil.
func (s *Stack) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Wait blocks until ctx ends or a part crashes, then stops everything. It returns
// the crash, or nil.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.failed:
	}
	s.Stop()
	return s.Err()
}

// Stop ends every part and returns when all are gone: the commands that were
// added to the stack, the last one first, then Temporal, S3 and Postgres. It may
// be called more than once.
func (s *Stack) Stop() {
	s.endParts()
	_ = s.lock.Close() // closed already, the second time
}

// Destroy is Stop, and deletes the data.
func (s *Stack) Destroy() error {
	s.endParts()
	err := removeData(s.dir)
	_ = s.lock.Close()
	return err
}

func (s *Stack) endParts() {
	s.mu.Lock()
	s.stopping = true
	parts := slices.Clone(s.parts)
	s.mu.Unlock()
	s.stopped.Do(func() {
		slices.Reverse(parts)
		slices.SortStableFunc(parts, func(a, b *part) int { return stopRank(a) - stopRank(b) })
		for _, p := range parts {
			p.process.end()
		}
	})
}

// RemoveAbandoned deletes the stacks in the folders below parent that nobody runs
// and that were last started longer ago than age: those of tests that were killed
// before they could clean up.
func RemoveAbandoned(parent string, age time.Duration) error {
	locks, err := filepath.Glob(lockFile(filepath.Join(parent, "*")))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range locks {
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		lock, free, err := tryLock(path)
		if err != nil || !free {
			continue // in use, or another process is deleting it
		}
		dir := filepath.Dir(path)
		errs = append(errs, removeData(dir), os.RemoveAll(dir))
		lock.Close()
	}
	return errors.Join(errs...)
}

// stopRank is 0 for what depends on the stack's own parts and grows with what
// others depend on.
func stopRank(p *part) int {
	return slices.Index([]string{PartTemporal, PartS3, PartPostgres}, p.command.Name) + 1
}
