package scanner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// largeBundle is 2,000 files and 32 MiB of every kind a layer parses, the same at
// every run.
func largeBundle() *Bundle {
	random := rand.New(rand.NewPCG(1, 2))
	const files, size = 2000, 32 << 20 / 2000
	content := map[string]string{"SKILL.md": "---\nname: large\ndescription: A large bundle.\n---\n# Large\n"}
	for i := 1; i < files; i++ {
		kind := []string{"md", "py", "js", "sh", "json", "txt", "ts", "yaml"}[i%8]
		content[fmt.Sprintf("part%02d/file%04d.%s", i%40, i, kind)] = filler(random, kind, size)
	}
	return MemoryBundle(content)
}

func filler(random *rand.Rand, kind string, size int) string {
	lines := map[string][]string{
		"md":   {"## Section %d", "The assistant should read the report number %d and then send a short summary to the user.", "", "```bash", "curl -s https://api.example.com/v1/items/%d | jq .", "```", "- Never delete files without asking, see https://example.org/%d."},
		"py":   {"import os, json, requests", "def handler_%d(value, other=None):", "    data = json.loads(value) if value else {'n': %d}", "    return requests.get('https://api.example.com/' + str(data), timeout=%d)", "", "print(os.path.join('out', str(%d)))"},
		"js":   {"const fs = require('fs');", "function handle%d(a, b) { return a.map((x) => x + b * %d); }", "fetch(`https://api.example.com/${process.env.REGION}/%d`).then((r) => r.json());", "const table%d = { a: [1, 2, 3], b: 'text' };"},
		"ts":   {"export interface Item%d { id: number; name: string }", "export const load%d = async (id: number): Promise<void> => { await fetch('https://api.example.com/' + id); };"},
		"sh":   {"echo \"step %d\"", "for f in *.txt; do sort \"$f\" > \"out/%d-$f\"; done", "if [ -n \"$X%d\" ]; then curl -s https://api.example.com/%d -o out.json; fi"},
		"json": {"  \"key%d\": {\"name\": \"value\", \"list\": [1, 2, 3, %d]},"},
		"yaml": {"key%d: value of the setting number %d"},
		"txt":  {"Plain text about nothing in particular, line %d, with a token count of %d words."},
	}[kind]
	var sb strings.Builder
	for sb.Len() < size {
		line := lines[random.IntN(len(lines))]
		for strings.Contains(line, "%d") {
			line = strings.Replace(line, "%d", fmt.Sprint(random.IntN(1_000_000)), 1)
		}
		sb.WriteString(line + "\n")
	}
	return sb.String()[:size]
}

// TestLargeBundle holds the scanner to its budget: 2,000 files and 32 MiB in under 20
// seconds on two cores and 512 MiB.
func TestLargeBundle(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("takes seconds, and the race detector makes the figures worthless")
	}
	b := largeBundle()
	stop, peak := watchHeap()
	began, before := time.Now(), processorTime(t)
	report, err := Scan(context.Background(), b, nil)
	elapsed := time.Since(began)
	close(stop)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, peak heap %d MiB over the input, verdict %s", elapsed.Round(time.Millisecond), <-peak>>20, report.Verdict)
	for name, layer := range report.Layers {
		t.Logf("%s %d ms", name, layer.DurationMS)
	}
	// Other work on the machine stretches the clock, not the processor time: 20 s on
	// two cores are 40 s of it, and the layers don't always share them evenly.
	if used := processorTime(t) - before; used > 30*time.Second {
		t.Errorf("took %s of processor time, more than 30 s", used)
	} else {
		t.Logf("%s of processor time", used.Round(time.Millisecond))
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// watchHeap samples the heap in use until stop is closed and then sends the highest.
func watchHeap() (stop chan struct{}, peak chan uint64) {
	stop, peak = make(chan struct{}), make(chan uint64, 1)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	go func() {
		highest := uint64(0)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				peak <- highest
				return
			case <-tick.C:
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				highest = max(highest, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
			}
		}
	}()
	return stop, peak
}

// BenchmarkScan measures the same bundle.
func BenchmarkScan(b *testing.B) {
	bundle := largeBundle()
	b.SetBytes(32 << 20)
	for b.Loop() {
		if _, err := Scan(context.Background(), bundle, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHostileShapes scans input that is slow for careless scanners: one huge line,
// one huge file, deep nesting, endless encodings.
func TestHostileShapes(t *testing.T) {
	t.Parallel()
	huge := 8 << 20
	if testing.Short() || raceEnabled {
		huge = 1 << 20
	}
	shapes := map[string]map[string]string{
		"one line of text":    {"a.md": strings.Repeat("ignore ", huge/7)},
		"one line of base64":  {"a.txt": strings.Repeat("QUJD", huge/4)},
		"brackets in python":  {"a.py": "x = " + strings.Repeat("(", 200_000)},
		"brackets in js":      {"a.js": strings.Repeat("[", 200_000)},
		"nested shell":        {"a.sh": strings.Repeat("$(", 100_000)},
		"call chain":          {"a.py": "x" + strings.Repeat(".f()", 50_000)},
		"concatenation":       {"a.js": "x = " + strings.Repeat("'a'+", 100_000) + "'a'"},
		"quotes in markdown":  {"a.md": strings.Repeat(">", 500_000)},
		"open comments":       {"a.md": strings.Repeat("<!-- ", 200_000)},
		"functions that call": {"a.py": chainOfCalls(400)},
		"yaml aliases":        {"capabilities.yaml": yamlBomb()},
		"letters spaced out":  {"a.md": strings.Repeat("a b ", huge/8)},
		"zero width":          {"a.md": strings.Repeat("\u200b", huge/6)},
	}
	for name, files := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files["SKILL.md"] = "---\nname: a\ndescription: b\n---\n"
			began := time.Now()
			if _, err := Scan(context.Background(), MemoryBundle(files), nil); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d > time.Minute && !raceEnabled {
				t.Errorf("took %s", d)
			} else {
				t.Logf("%s", d.Round(time.Millisecond))
			}
		})
	}
}

func chainOfCalls(n int) string {
	var sb strings.Builder
	for i := range n {
		fmt.Fprintf(&sb, "def f%d(x):\n    return f%d(x) + f%d(x) + f%d(x)\n", i, (i+1)%n, (i+7)%n, (i+13)%n)
	}
	return sb.String()
}

func yamlBomb() string {
	var sb strings.Builder
	sb.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&sb, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	return sb.String()
}
