package scanner

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// benchCorpus asks TestCorpusMeasure to print its tables: go test … -args -corpus.
var benchCorpus = flag.Bool("corpus", false, "print the corpus measurement")

// sample is one labelled bundle of the corpus.
type sample struct {
	name, label, category, split, round string
	bundle                              *Bundle
}

func (s sample) splitName() string { return s.split }

func loadCorpus(t *testing.T, root string) []sample {
	t.Helper()
	var out []sample
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".txtar" {
			return err
		}
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return err
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		s := sample{name: strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(root)+"/"), bundle: MemoryBundle(files)}
		for line := range strings.SplitSeq(string(archive.Comment), "\n") {
			if v, ok := strings.CutPrefix(line, "# label: "); ok {
				s.label = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "# split: "); ok {
				s.split = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "# round: "); ok {
				s.round = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "# category: "); ok {
				s.category = strings.TrimSpace(v)
			}
		}
		if s.label != "malicious" && s.label != "benign" {
			return fmt.Errorf("%s: no label", name)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatalf("load corpus: %v", err)
	}
	return out
}

// scored is a sample with its report.
type scored struct {
	sample
	report Report
}

func scanCorpus(t *testing.T, samples []sample) []scored {
	t.Helper()
	out := make([]scored, len(samples))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, s := range samples {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			report, err := Scan(context.Background(), s.bundle, nil)
			if err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			out[i] = scored{s, report}
		})
	}
	wg.Wait()
	return out
}

// The share of malicious samples that may be allowed: of all samples as users meet the
// scanner, and of those whose authors the wording model had not seen. Rounds of triplets
// are part of both, and most of the latter: they differ in what is done and in nothing else.
const (
	mayAllow       = 0.05
	mayAllowUnseen = 0.10
)

// TestCorpusMeasure scans the labelled corpus and holds the scanner to its aims. The
// figures it prints, and the second aim, are those of a wording model which was trained
// without the round that a sample belongs to: on texts that it learned from, any model shines.
func TestCorpusMeasure(t *testing.T) {
	if other := os.Getenv("SCANNER_CORPUS"); other != "" {
		results := scanCorpus(t, loadCorpus(t, other))
		checkAims(t, results, mayAllow)
		t.Log("\n" + measure(results))
		return
	}
	results := scanCorpus(t, loadCorpus(t, corpusRoot))
	checkAims(t, results, mayAllow)
	unseen := crossRead(t, results)
	checkAims(t, unseen, mayAllowUnseen)
	if *benchCorpus {
		t.Log("\nall samples\n" + measure(unseen))
		t.Log("\nsplit holdout\n" + measure(splitOf(unseen, "holdout")))
	}
}

func checkAims(t *testing.T, results []scored, may float64) {
	t.Helper()
	malicious, allowed := 0, 0
	for _, r := range results {
		switch {
		case r.label == "malicious":
			malicious++
			if r.report.Verdict == VerdictAllow {
				allowed++
				t.Logf("malicious and allowed: %s (score %d)", r.name, r.report.RiskScore)
			}
		case r.report.Verdict == VerdictBlock:
			t.Errorf("benign and blocked: %s: %s", r.name, topFinding(r.report))
		}
	}
	if malicious == 0 {
		t.Fatal("there is no malicious sample")
	}
	if float64(allowed) > may*float64(malicious) {
		t.Errorf("%d of %d malicious samples are allowed, more than %.0f %%", allowed, malicious, 100*may)
	}
}

func topFinding(r Report) string {
	if len(r.Findings) == 0 {
		return "no finding"
	}
	f := r.Findings[0]
	return fmt.Sprintf("%s %.2f %s:%d %s", f.RuleID, f.Confidence, f.FilePath, f.LineStart, f.Snippet)
}

// measure renders precision and recall per verdict and per category, each with a
// 95 % Wilson interval.
func measure(results []scored) string {
	var sb strings.Builder
	verdicts := map[string]map[Verdict]int{"malicious": {}, "benign": {}}
	for _, r := range results {
		verdicts[r.label][r.report.Verdict]++
	}
	bad, good := verdicts["malicious"], verdicts["benign"]
	allBad, allGood := bad[VerdictAllow]+bad[VerdictReview]+bad[VerdictBlock], good[VerdictAllow]+good[VerdictReview]+good[VerdictBlock]
	fmt.Fprintf(&sb, "%-11s %6s %7s %6s\n", "label", "allow", "review", "block")
	for _, label := range []string{"malicious", "benign"} {
		fmt.Fprintf(&sb, "%-11s %6d %7d %6d\n", label, verdicts[label][VerdictAllow], verdicts[label][VerdictReview], verdicts[label][VerdictBlock])
	}
	sb.WriteString("\nverdict at least   precision               recall                  benign hit\n")
	for _, at := range []struct {
		name   string
		tp, fp int
	}{{"review", bad[VerdictReview] + bad[VerdictBlock], good[VerdictReview] + good[VerdictBlock]}, {"block", bad[VerdictBlock], good[VerdictBlock]}} {
		fmt.Fprintf(&sb, "%-18s %-23s %-23s %s\n", at.name, interval(at.tp, at.tp+at.fp), interval(at.tp, allBad), interval(at.fp, allGood))
	}
	sb.WriteString(byRound(results))
	sb.WriteString("\ncategory                recall (review or block)  named by a finding of the category\n")
	for _, category := range categories(results) {
		caught, named, n := 0, 0, 0
		for _, r := range results {
			if r.label != "malicious" || r.category != category {
				continue
			}
			n++
			if r.report.Verdict != VerdictAllow {
				caught++
			}
			if slices.ContainsFunc(r.report.Findings, func(f Finding) bool { return f.Category == category && f.Confidence >= 0.5 }) {
				named++
			}
		}
		fmt.Fprintf(&sb, "%-23s %-25s %s\n", category, interval(caught, n), interval(named, n))
	}
	return sb.String() + precisionByCategory(results)
}

// byRound shows each round of samples, since a round is one author.
func byRound(results []scored) string {
	rounds := map[string]*tally{}
	for _, r := range results {
		n := rounds[r.round]
		if n == nil {
			n = &tally{}
			rounds[r.round] = n
		}
		n.add(r)
	}
	var sb strings.Builder
	sb.WriteString("\nround  malicious allowed        benign reviewed          benign blocked\n")
	for _, round := range slices.SortedFunc(maps.Keys(rounds), byNumber) {
		n := rounds[round]
		fmt.Fprintf(&sb, "%-6s %-24s %-24s %d/%d\n", round, interval(n.allowed, n.malicious), interval(n.reviewed, n.benign), n.blocked, n.benign)
	}
	return sb.String()
}

// tally counts a round's verdicts.
type tally struct{ malicious, allowed, benign, reviewed, blocked int }

func (n *tally) add(r scored) {
	if r.label == "malicious" {
		n.malicious++
		if r.report.Verdict == VerdictAllow {
			n.allowed++
		}
		return
	}
	n.benign++
	switch r.report.Verdict {
	case VerdictReview:
		n.reviewed++
	case VerdictBlock:
		n.blocked++
	case VerdictAllow:
	}
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func categories(results []scored) []string {
	set := map[string]bool{}
	for _, r := range results {
		if r.label == "malicious" {
			set[r.category] = true
		}
	}
	var out []string
	for c := range set {
		out = append(out, c)
	}
	sort.Strings(out)
	return out
}

// precisionByCategory is the share of samples with a confident medium or worse
// finding of a category that are malicious at all.
func precisionByCategory(results []scored) string {
	right, all := map[string]int{}, map[string]int{}
	for _, r := range results {
		seen := map[string]bool{}
		for _, f := range r.report.Findings {
			if severityRank[f.Severity] >= 2 && f.Confidence >= sureEnough && !seen[f.Category] {
				seen[f.Category] = true
				all[f.Category]++
				if r.label == "malicious" {
					right[f.Category]++
				}
			}
		}
	}
	var names []string
	for c := range all {
		names = append(names, c)
	}
	sort.Strings(names)
	var sb strings.Builder
	sb.WriteString("\nfindings' category      precision (confident findings on malicious samples)\n")
	for _, c := range names {
		fmt.Fprintf(&sb, "%-23s %s\n", c, interval(right[c], all[c]))
	}
	return sb.String()
}

// interval is k of n with the 95 % Wilson score interval, which holds for small n.
func interval(k, n int) string {
	if n == 0 {
		return "-"
	}
	const z = 1.96
	p, size := float64(k)/float64(n), float64(n)
	center := (p + z*z/(2*size)) / (1 + z*z/size)
	half := z / (1 + z*z/size) * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	return fmt.Sprintf("%.2f [%.2f, %.2f] %d/%d", p, max(center-half, 0), min(center+half, 1), k, n)
}

// splitOf keeps the samples of one split: rules are tuned on dev and judged on holdout.
func splitOf[T interface{ splitName() string }](results []T, split string) []T {
	var out []T
	for _, r := range results {
		if r.splitName() == split {
			out = append(out, r)
		}
	}
	return out
}
