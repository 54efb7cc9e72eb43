package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Test processes of many packages run at once and in turn, none of them as long
// as all together, so the stack they share belongs to a process of its own: the
// keeper. It is started on demand by whoever comes first.
//
//   - A user holds a shared lock on users.lock for as long as it lives.
//   - The keeper tries for the exclusive lock; while it gets it there is no user.
//     After a while of that it keeps the lock and stops, so a newcomer waits until
//     it is gone and then starts the next one.
//   - Whoever starts a keeper holds starters.lock meanwhile.
//
// Locks vanish with their holders, however those end: nothing has to be cleaned up.

const (
	usersLock    = "users.lock"
	startersLock = "starters.lock"
	endpointFile = "endpoints.json"
	keeperLog    = "keeper.log"
)

// SharedDir returns the directory of the stack that the tests of this checkout
// share.
func SharedDir() (string, error) {
	root, err := SourceDir()
	return filepath.Join(root, ".dev", "test"), err
}

// KeepShared runs the stack that JoinShared hands out, with fresh data, until
// there has been no user for the time idle, ctx ends or a part crashes.
func KeepShared(ctx context.Context, dir string, idle time.Duration, output io.Writer) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// Once taken, this lock lasts until everything is stopped and deleted: the
	// first to be opened is the last to be closed.
	users, err := openLock(filepath.Join(dir, usersLock))
	if err != nil {
		return err
	}
	defer users.Close()
	stack, err := Start(ctx, Options{Dir: dir, Reset: true, Volatile: true, Output: output})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Destroy()) }()
	published := filepath.Join(dir, endpointFile)
	content, err := json.Marshal(stack.Endpoints)
	if err != nil {
		return err
	}
	if err := writeWhole(published, content); err != nil {
		return err
	}
	defer os.Remove(published)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		awaitIdle(ctx, users, idle)
		cancel()
	}()
	select {
	case <-ctx.Done():
	case <-stack.Failed():
	}
	return stack.Err()
}

// awaitIdle returns, holding the users' lock, when nobody has used the stack for
// the time idle; or when ctx ends.
func awaitIdle(ctx context.Context, users *os.File, idle time.Duration) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for lastUse := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		free, err := tryExclusive(users)
		switch {
		case err != nil || !free:
			lastUse = time.Now()
		case time.Since(lastUse) >= idle:
			return
		default:
			_ = unlock(users)
		}
	}
}

// Shared is a use of the shared stack.
type Shared struct {
	Endpoints
	dir   string
	users *os.File
}

// JoinShared returns the running shared stack in dir, and starts it where none
// runs, with the progress of that going to output. The use lasts until Leave, or
// until this process ends.
func JoinShared(ctx context.Context, dir string, output io.Writer) (*Shared, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	users, err := openLock(filepath.Join(dir, usersLock))
	if err != nil {
		return nil, err
	}
	s := &Shared{dir: dir, users: users}
	if err := lockShared(users); err != nil {
		users.Close()
		return nil, err
	}
	if s.Endpoints, err = joinKeeper(ctx, dir, output); err != nil {
		users.Close()
		return nil, err
	}
	return s, nil
}

// Leave ends the use. Where it was the last one the stack is stopped, without
// waiting for the idle time, and gone when Leave returns.
func (s *Shared) Leave() error {
	defer s.users.Close()
	if last, err := s.becomeLast(); !last {
		return err
	}
	// Nobody can join while the lock is held.
	if !keeperRuns(s.dir) {
		return nil
	}
	if pid := lockHolder(lockFile(s.dir)); pid > 0 {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	lock, err := openLock(lockFile(s.dir))
	if err != nil {
		return err
	}
	defer lock.Close()
	return lockExclusive(lock)
}

// becomeLast turns the use into an exclusive lock, and reports false where there
// are other users. It tries more than once because the keeper, looking for users,
// holds the lock for moments.
func (s *Shared) becomeLast() (bool, error) {
	for range 3 {
		if last, err := tryExclusive(s.users); last || err != nil {
			return last, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false, nil
}

func keeperRuns(dir string) bool {
	lock, err := openLock(lockFile(dir))
	if err != nil {
		return false
	}
	defer lock.Close()
	free, err := tryExclusive(lock)
	return err == nil && !free
}

// errKeeperGone means that the keeper ended before it had published anything.
var errKeeperGone = errors.New("the keeper of the shared stack has ended")

// joinKeeper returns what the keeper has published, having started one if there
// is none.
func joinKeeper(ctx context.Context, dir string, output io.Writer) (Endpoints, error) {
	starters, err := awaitLock(ctx, filepath.Join(dir, startersLock))
	if err != nil {
		return Endpoints{}, err
	}
	defer starters.Close()
	if keeperRuns(dir) {
		endpoints, err := awaitPublished(ctx, dir, func() bool { return !keeperRuns(dir) })
		if !errors.Is(err, errKeeperGone) {
			return endpoints, err
		}
	}
	ended, err := startKeeper(ctx, dir)
	if err != nil {
		return Endpoints{}, err
	}
	log, err := os.Open(filepath.Join(dir, keeperLog))
	if err != nil {
		return Endpoints{}, err
	}
	defer log.Close()
	endpoints, err := awaitPublished(ctx, dir, func() bool {
		_, _ = io.Copy(output, log) // what has been added since the last look
		return isClosed(ended)
	})
	if errors.Is(err, errKeeperGone) {
		err = fmt.Errorf("%w:\n%s", err, lastLines(filepath.Join(dir, keeperLog), crashLines))
	}
	return endpoints, err
}

// awaitPublished reads the keeper's endpoints once they are there.
func awaitPublished(ctx context.Context, dir string, gone func() bool) (Endpoints, error) {
	var endpoints Endpoints
	err := poll(ctx, func(context.Context) error {
		if gone() {
			return &permanentError{errKeeperGone}
		}
		content, err := os.ReadFile(filepath.Join(dir, endpointFile))
		if err != nil {
			return err
		}
		return json.Unmarshal(content, &endpoints)
	})
	return endpoints, err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// startKeeper starts a keeper that outlives this process. The channel is closed if
// it ends first.
func startKeeper(ctx context.Context, dir string) (ended <-chan struct{}, err error) {
	if err := os.RemoveAll(filepath.Join(dir, endpointFile)); err != nil { // of a keeper that was killed
		return nil, err
	}
	program, err := buildKeeper(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, keeperLog))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, "keep", dir)
	// Neither the terminal's Ctrl-C nor the pipe that `go test` reads may tie the
	// keeper to the process that happened to come first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log tells why
		close(gone)
	}()
	return gone, nil
}

func buildKeeper(ctx context.Context) (string, error) {
	root, err := SourceDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, ".dev", "bin", "teststack")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./internal/devstack/teststack")
	cmd.Dir = root
	return binary, runToEnd(cmd)
}
