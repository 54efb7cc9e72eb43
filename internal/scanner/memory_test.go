package scanner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// hungryBundles take more memory than any other known input of their kind.
var hungryBundles = map[string]func() *Bundle{
	"a full-size bundle":      largeBundle,
	"one program of 32 MiB":   oneFile("a.js", func() string { return strings.Repeat("const table = { a: [1, 2, 3], b: 'text' };\n", 32<<20/43) }),
	"a token at every byte":   oneFile("a.py", func() string { return strings.Repeat("a\n", maxProgramBytes/2) }),
	"ambiguous types":         oneFile("a.ts", func() string { return strings.Repeat("a<b<", maxProgramBytes/4) }),
	"brackets":                oneFile("a.js", func() string { return strings.Repeat("(", maxProgramBytes) }),
	"comments that never end": oneFile("a.js", func() string { return strings.Repeat("/* ", maxProgramBytes/3) }),
	"nested substitutions":    oneFile("a.sh", func() string { return strings.Repeat("$(", 16<<20) }),
	"many short commands":     oneFile("a.sh", func() string { return strings.Repeat("a;", 16<<20) }),
	"nested arithmetic":       oneFile("a.sh", func() string { return "echo $((" + strings.Repeat("-", maxShellBytes-100) }),
	"nested TOML arrays":      oneFile("pyproject.toml", func() string { return "a = " + strings.Repeat("[", 16<<20) }),
	"a key of many parts":     oneFile("pyproject.toml", func() string { return strings.Repeat("a.", 16<<20) + "b = 1" }),
	"lines of three bytes":    oneFile("a.yaml", func() string { return strings.Repeat("- a\n", 8<<20) }),
	"one line of dashes":      oneFile("a.md", func() string { return strings.Repeat("- ", 16<<20) }),
}

func oneFile(name string, content func() string) func() *Bundle {
	return func() *Bundle {
		return MemoryBundle(map[string]string{"SKILL.md": "---\nname: a\ndescription: b\n---\n", name: content()})
	}
}

const maxScanMemory = 512 << 20

// TestMemory scans each in a process of its own and asks the system for its highest
// resident size, which counts the parsers' memory outside Go's heap as well.
func TestMemory(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("the race detector multiplies memory")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	for name := range hungryBundles {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestScanAlone$", "-test.v")
			cmd.Env = append(os.Environ(), "SCANNER_HUNGRY_BUNDLE="+name)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
			}
			m := regexp.MustCompile(`peak (\d+) KiB, (.*)`).FindSubmatch(out)
			if m == nil {
				t.Fatalf("no measurement in %s", out)
			}
			peak, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d MiB, %s", peak>>10, m[2])
			if peak<<10 > maxScanMemory {
				t.Errorf("%d MiB are more than %d", peak>>10, maxScanMemory>>20)
			}
		})
	}
}

// TestScanAlone is the process that TestMemory starts.
func TestScanAlone(t *testing.T) {
	bundle := hungryBundles[os.Getenv("SCANNER_HUNGRY_BUNDLE")]
	if bundle == nil {
		t.Skip("started by TestMemory")
	}
	report, err := Scan(context.Background(), bundle(), nil)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatal("the system does not tell the peak")
	}
	fmt.Printf("peak %s KiB, verdict %s, behavioral %s\n", m[1], report.Verdict, report.Layers[LayerBehavioral].Status)
}
