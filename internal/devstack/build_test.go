package devstack

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestToolIsBuiltOnce has several goroutines want the same tool of a checkout
// where it was never built, then changes the pinned version.
func TestToolIsBuiltOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := filepath.Join(root, "tools", "hello")
	write(t, filepath.Join(source, "go.mod"), "module example.org/hello\n\ngo 1.26\n\ntool example.org/hello\n")
	write(t, filepath.Join(source, "go.sum"), "")
	write(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	var output bytes.Buffer
	p := &progress{out: &output}
	hello := tool{name: "hello", estimate: "a moment"}

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			program, err := builtTool(t.Context(), root, hello, p)
			if err != nil {
				t.Errorf("build: %v", err)
				return
			}
			if said, err := exec.Command(program).CombinedOutput(); err != nil || string(said) != "hello\n" {
				t.Errorf("%s says %q, %v", program, said, err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(output.String(), "built in"); n != 1 {
		t.Errorf("it was built %d times:\n%s", n, output.String())
	}

	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(source, "go.sum"), later, later); err != nil {
		t.Fatal(err)
	}
	if _, err := builtTool(t.Context(), root, hello, p); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(output.String(), "built in"); n != 2 {
		t.Errorf("a new version was not built:\n%s", output.String())
	}
}

func TestToolThatDoesNotBuild(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := filepath.Join(root, "tools", "broken")
	write(t, filepath.Join(source, "go.mod"), "module example.org/broken\n\ngo 1.26\n\ntool example.org/broken\n")
	write(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { undefined() }\n")
	_, err := builtTool(t.Context(), root, tool{name: "broken"}, &progress{out: t.Output()})
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("the error does not quote the compiler: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".dev", "bin", "broken.[0-9]*")); len(left) > 0 {
		t.Errorf("unfinished files are left: %v", left)
	}
}

// TestInstallPostgres runs the installation for Debian with stand-ins for the
// system's programs that note how they are called.
func TestInstallPostgres(t *testing.T) {
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	for _, name := range []string{"apt-get", "sed"} {
		write(t, filepath.Join(dir, name), "#!/bin/sh\necho $DEBIAN_FRONTEND "+name+" $1 >> "+calls+"\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := installers[0].run(t.Context(), &progress{out: t.Output()}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	want := "noninteractive apt-get update\nnoninteractive apt-get install\nnoninteractive sed -ri\nnoninteractive apt-get install\n"
	if string(content) != want {
		t.Errorf("it called\n%swant\n%s", content, want)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var output bytes.Buffer
		p := &progress{out: &output}
		end := p.step("temporal", "building (first time only, about 3 minutes)")
		time.Sleep(168 * time.Second)
		end("built")
		p.step("s3", "starting")("ready")
		want := `temporal     building (first time only, about 3 minutes) …
temporal     still building (first time only, about 3 minutes), 31s so far
temporal     still building (first time only, about 3 minutes), 1m1s so far
temporal     still building (first time only, about 3 minutes), 1m31s so far
temporal     still building (first time only, about 3 minutes), 2m1s so far
temporal     still building (first time only, about 3 minutes), 2m31s so far
temporal     built in 2m48s
s3           ready in 0s
`
		if output.String() != want {
			t.Errorf("progress is\n%swant\n%s", output.String(), want)
		}
	})
}

func TestFreePorts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := choosePorts(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, n := range first.named() {
		if *n.port == 0 || seen[*n.port] {
			t.Errorf("%s has port %d", n.part, *n.port)
		}
		seen[*n.port] = true
	}
	second, err := choosePorts(dir, 0)
	if err != nil || second != first {
		t.Errorf("the second choice is %+v, %v; want %+v again", second, err, first)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
