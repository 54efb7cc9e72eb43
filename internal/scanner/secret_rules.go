package scanner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
	re2 "github.com/wasilibs/go-re2"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"
)

// secretRules are gitleaks' default rules with their patterns compiled a second time
// for RE2, whose automaton reads them some thirty times faster than the standard
// library. RE2 finds where a rule matches; gitleaks then judges only those passages.
type secretRules struct {
	detector  *detect.Detector
	patterns  []*re2.Regexp
	keywords  *ahocorasick.Trie
	byKeyword [][]int // index of keyword -> patterns
	always    []int   // patterns without keywords
}

// loadSecretRules compiles once: that takes longer than scanning most bundles.
var loadSecretRules = sync.OnceValues(func() (*secretRules, error) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("load secret rules: %w", err)
	}
	// A comment in the bundle must not decide what the reviewer gets to see.
	detector.IgnoreGitleaksAllow = true
	rules := &secretRules{detector: detector}
	at := map[string]int{}
	var words []string
	for _, rule := range detector.Config.Rules {
		if rule.Regex == nil {
			continue // by file name only, which the structure layer looks at
		}
		pattern, err := re2.Compile(rule.Regex.String())
		if err != nil {
			return nil, fmt.Errorf("load secret rule %s: %w", rule.RuleID, err)
		}
		index := len(rules.patterns)
		rules.patterns = append(rules.patterns, pattern)
		if len(rule.Keywords) == 0 {
			rules.always = append(rules.always, index)
		}
		for _, word := range rule.Keywords {
			word = strings.ToLower(word)
			k, known := at[word]
			if !known {
				k = len(words)
				at[word] = k
				words = append(words, word)
				rules.byKeyword = append(rules.byKeyword, nil)
			}
			rules.byKeyword[k] = append(rules.byKeyword[k], index)
		}
	}
	rules.keywords = ahocorasick.NewTrieBuilder().AddStrings(words).Build()
	return rules, nil
})

// detect returns the credentials in text; their lines count from 0. It gives gitleaks
// no path, because the allow-lists skip lock files, images and vendored folders,
// where this scanner looks all the same.
func (r *secretRules) detect(ctx context.Context, text string) []report.Finding {
	var out []report.Finding
	line, counted := 0, 0
	for _, s := range r.passages(text) {
		line += strings.Count(text[counted:s.start], "\n")
		counted = s.start
		for _, hit := range r.detector.DetectContext(ctx, detect.Fragment{Raw: text[s.start:s.end]}) { //nolint:staticcheck // its successor is not accepted before v9
			hit.StartLine += line
			hit.EndLine += line
			out = append(out, hit)
		}
	}
	return out
}

// passages are the whole lines around each place where a rule matches, in order and
// without overlap.
func (r *secretRules) passages(text string) []match {
	matched := make([]match, 0, 8)
	for _, i := range r.candidates(text) {
		for _, loc := range r.patterns[i].FindAllStringIndex(text, -1) {
			matched = append(matched, linesAround(text, loc[0], loc[1]))
		}
	}
	return union(matched)
}

func (r *secretRules) candidates(text string) []int {
	picked := make([]bool, len(r.patterns))
	for _, i := range r.always {
		picked[i] = true
	}
	r.keywords.Walk([]byte(strings.ToLower(text)), func(_, _, word int64) bool {
		for _, i := range r.byKeyword[word] {
			picked[i] = true
		}
		return true
	})
	var out []int
	for i, yes := range picked {
		if yes {
			out = append(out, i)
		}
	}
	return out
}

// secretContext is how much of a very long line stays around a match; no rule looks
// further, and a credential is judged by its own line.
const secretContext = 1000

// linesAround widens a match to whole lines, as far as they are not very long.
func linesAround(text string, start, end int) match {
	from := max(0, start-secretContext)
	if i := strings.LastIndexByte(text[from:start], '\n'); i >= 0 {
		from += i + 1
	}
	to := min(len(text), end+secretContext)
	if i := strings.IndexByte(text[end:to], '\n'); i >= 0 {
		to = end + i + 1
	}
	return match{from, to}
}

// maxJoined is how far neighbouring lines are judged together: gitleaks' work on a
// text grows with its lines times its hits.
const maxJoined = 8 << 10

// union joins spans that overlap, and neighbours as long as they are short.
func union(spans []match) []match {
	slices.SortFunc(spans, func(a, b match) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	var out []match
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && (s.start < out[last].end || s.start == out[last].end && s.end-out[last].start <= maxJoined) {
			out[last].end = max(out[last].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}
