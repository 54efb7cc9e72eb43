package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// postgresHome is where the database lives and who runs it.
type postgresHome struct {
	dir        string
	credential *syscall.Credential // nil: this process's own user
}

func (h postgresHome) data() string { return filepath.Join(h.dir, "data") }

// preparePostgresHome makes the folder of the database. Postgres refuses to run
// as root: for root it belongs to an unprivileged user, and it moves out of dir
// where that user can't reach it (a checkout below /root, or in any folder that
// is closed to others).
func preparePostgresHome(dir string, p *progress) (postgresHome, error) {
	home := postgresHome{dir: insideDir(dir)}
	if os.Geteuid() != 0 {
		return home, os.MkdirAll(home.dir, 0o700)
	}
	var err error
	if home.credential, err = postgresUser(home.dir); err != nil {
		return home, err
	}
	if err := home.makeDir(); err != nil {
		return home, err
	}
	if home.reachable() {
		return home, nil
	}
	if err := os.Remove(home.dir); err != nil {
		return home, fmt.Errorf("user %d, who runs Postgres, can't reach the database in %s: %w", home.credential.Uid, home.dir, err)
	}
	home.dir = outsideDir(dir)
	if err := home.makeDir(); err != nil {
		return home, err
	}
	if !home.reachable() {
		return home, fmt.Errorf("user %d, who runs Postgres, can reach neither %s nor %s; choose another directory", home.credential.Uid, dir, home.dir)
	}
	p.say(PartPostgres, "keeps its data in %s, since the user it runs as can't reach %s", home.dir, dir)
	return home, nil
}

// postgresUser is who runs Postgres for root: the owner of an existing database,
// else the distribution's user for it, else nobody.
func postgresUser(home string) (*syscall.Credential, error) {
	if info, err := os.Stat(filepath.Join(home, "data")); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
			return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return credentialOf(u)
		}
	}
	return nil, errors.New("there is neither a user postgres nor a user nobody to run Postgres as, which refuses to run as root")
}

func credentialOf(u *user.User) (*syscall.Credential, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// insideDir is the usual place for the database of the stack in dir.
func insideDir(dir string) string { return filepath.Join(dir, "postgres") }

// outsideDir is the place for the database of the stack in dir where dir itself
// won't do. /var/tmp outlives a restart of the machine, /tmp may not.
func outsideDir(dir string) string {
	parent := "/var/tmp"
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		parent = os.TempDir()
	}
	key := sha256.Sum256([]byte(dir))
	return filepath.Join(parent, "marketplace-postgres-"+hex.EncodeToString(key[:6]))
}

// makeDir makes the folder for the user alone. A folder of that name that belongs
// to somebody else is refused: in a shared place it may be a trap.
func (h postgresHome) makeDir() error {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(h.dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || (stat.Uid != 0 && stat.Uid != h.credential.Uid) {
		return fmt.Errorf("%s belongs to somebody else; remove it", h.dir)
	}
	return os.Chown(h.dir, int(h.credential.Uid), int(h.credential.Gid))
}

// reachable reports whether the user can work in the folder, by having a child
// that runs as the user change into it.
func (h postgresHome) reachable() bool {
	cmd := exec.Command("true")
	cmd.Dir = h.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.credential}
	return runToEnd(cmd) == nil
}
