package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// minPostgres is the oldest major version that the schema is written for.
const minPostgres = 15

// postgresFolders are where distributions and Homebrew put the server's programs,
// which are often not on PATH.
var postgresFolders = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // PostgreSQL's own RPMs
	"/usr/libexec/postgresql*",           // Alpine
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
	"/usr/local/pgsql/bin",               // built from source
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// postgresPrograms is a folder with initdb and postgres of one version.
type postgresPrograms struct {
	dir   string
	major int
}

func (p postgresPrograms) path(name string) string { return filepath.Join(p.dir, name) }

// errNoPostgres means that no usable server is installed.
var errNoPostgres = fmt.Errorf("no Postgres %d or later is installed", minPostgres)

// findPostgres returns the programs for the database in data: of its own version
// if there is one already, else those on PATH, else the newest.
func findPostgres(ctx context.Context, data string) (postgresPrograms, error) {
	found := installedPostgres(ctx)
	if len(found) == 0 {
		return postgresPrograms{}, errNoPostgres
	}
	content, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return found[0], nil //nolint:nilerr // no database yet: any version will do
	}
	major := majorVersion(content)
	for _, programs := range found {
		if programs.major == major {
			return programs, nil
		}
	}
	return postgresPrograms{}, fmt.Errorf("the database in %s was made by Postgres %d, which is no longer installed (found %d); install it, or begin anew with --reset", data, major, found[0].major)
}

func installedPostgres(ctx context.Context) []postgresPrograms {
	var folders []string
	for _, pattern := range postgresFolders {
		matches, _ := filepath.Glob(pattern)
		folders = append(folders, matches...)
	}
	var found []postgresPrograms
	for _, dir := range folders {
		if programs, ok := postgresIn(ctx, dir); ok {
			found = append(found, programs)
		}
	}
	slices.SortStableFunc(found, func(a, b postgresPrograms) int { return b.major - a.major })
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if programs, ok := postgresIn(ctx, filepath.Dir(initdb)); ok {
			found = slices.Insert(found, 0, programs)
		}
	}
	return found
}

func postgresIn(ctx context.Context, dir string) (postgresPrograms, bool) {
	programs := postgresPrograms{dir: dir}
	if _, err := os.Stat(programs.path("initdb")); err != nil {
		return programs, false
	}
	output, err := exec.CommandContext(ctx, programs.path("postgres"), "--version").Output()
	programs.major = majorVersion(output)
	return programs, err == nil && programs.major >= minPostgres
}

var firstNumber = regexp.MustCompile(`\d+`)

func majorVersion(text []byte) int {
	major, _ := strconv.Atoi(string(firstNumber.Find(text)))
	return major
}

// installer is how a distribution installs Postgres without asking anything.
type installer struct {
	program string
	steps   [][]string
}

var installers = []installer{
	{"apt-get", [][]string{
		{"apt-get", "update", "-q"},
		{"apt-get", "install", "-y", "-q", "--no-install-recommends", "postgresql-common"},
		// The package would otherwise start a server of its own on port 5432.
		{"sed", "-ri", `s/^#?create_main_cluster.*/create_main_cluster = false/`, "/etc/postgresql-common/createcluster.conf"},
		{"apt-get", "install", "-y", "-q", "--no-install-recommends", "postgresql"},
	}},
	{"dnf", [][]string{{"dnf", "install", "-y", "postgresql-server", "postgresql-contrib"}}},
	{"apk", [][]string{{"apk", "add", "--no-cache", "postgresql16", "postgresql16-contrib"}}},
}

const howToInstallPostgres = `install it and start again:
    Debian, Ubuntu   sudo apt-get install postgresql
    Fedora           sudo dnf install postgresql-server postgresql-contrib
    Alpine           sudo apk add postgresql16 postgresql16-contrib
    macOS            brew install postgresql@16
  (only its programs are used: no service has to run)`

// installPostgres installs the distribution's package where this process may,
// and otherwise returns an error that says what to do.
func installPostgres(ctx context.Context, p *progress) error {
	if os.Geteuid() == 0 {
		for _, i := range installers {
			if _, err := exec.LookPath(i.program); err == nil {
				return i.run(ctx, p)
			}
		}
	}
	return fmt.Errorf("%w; %s", errNoPostgres, howToInstallPostgres)
}

func (i installer) run(ctx context.Context, p *progress) error {
	end := p.step(PartPostgres, "installing the distribution's package with "+i.program)
	for _, step := range i.steps {
		cmd := exec.CommandContext(ctx, step[0], step[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if err := runToEnd(cmd); err != nil {
			end("")
			return errors.Join(fmt.Errorf("%w; %s", errNoPostgres, howToInstallPostgres), err)
		}
	}
	end("installed")
	return nil
}
