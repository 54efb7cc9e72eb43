package scanner

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
	re2 "github.com/wasilibs/go-re2"
	"go.yaml.in/yaml/v3"
)

//go:embed rules/*.yaml
var ruleFiles embed.FS

// rule is one entry of the rule pack; docs/scanner-rules.md explains the fields.
type rule struct {
	ID          string        `yaml:"id"`
	Category    string        `yaml:"category"`
	Severity    Severity      `yaml:"severity"`
	Confidence  float64       `yaml:"confidence"`
	Title       string        `yaml:"title"`
	Message     string        `yaml:"message"`
	Remediation string        `yaml:"remediation"`
	Kinds       []fileKind    `yaml:"kinds"`    // file kinds; none = every text file
	Contexts    []textContext `yaml:"contexts"` // where in the document; none = anywhere
	Keywords    []string      `yaml:"keywords"` // lower case; one must occur before a pattern is tried
	Any         []string      `yaml:"any"`      // one must match; the first match is reported
	All         []string      `yaml:"all"`      // every one must match in the same passage
	Not         []string      `yaml:"not"`      // none may match in the same passage
	// Literal rules describe what text is (hidden, encoded) rather than what it
	// asks for, so quoting or discussing does not make them less likely.
	Literal bool `yaml:"literal"`
	// Encoded rules look at decoded text only: what is ordinary in plain sight is
	// not when it was hidden.
	Encoded bool `yaml:"encoded"`
	// Sentences is over how many sentences or list items a match may reach, 0 for any
	// number: common words mean nothing together when they stand far apart.
	Sentences int `yaml:"sentences"`
	// Consent rules describe what is fine when the user is asked.
	Consent bool `yaml:"consent"`
	// Signal is the weight of a rule that is never reported alone (see signals.go).
	Signal   float64 `yaml:"signal"`
	Examples struct {
		Match []string `yaml:"match"`
		Clean []string `yaml:"clean"`
	} `yaml:"examples"`

	any, all, not []pattern
}

// pattern is a compiled expression, run by RE2 itself: its automaton reads the many
// alternatives of these rules some thirty times faster than the standard library.
// Its wide gaps are unbounded for the engine, which
// keeps the automaton small and fast; limit is the longest match that then counts.
type pattern struct {
	re    *re2.Regexp
	limit int
}

var wideGap = regexp.MustCompile(`\.\{0,(\d{2,3})\}\??`)

const gapAllowance = 110 // of a limited match's own words

func compilePattern(source string) (pattern, error) {
	limit := 0
	for _, gap := range wideGap.FindAllStringSubmatch(source, -1) {
		width, err := strconv.Atoi(gap[1])
		if err != nil {
			return pattern{}, err
		}
		limit += width
	}
	if limit > 0 {
		limit += gapAllowance
	}
	re, err := re2.Compile("(?i)" + wideGap.ReplaceAllString(source, ".*?"))
	return pattern{re, limit}, err
}

// findAll returns up to n matches that are not longer than the limit.
func (p pattern) findAll(text string, n int) []match {
	var out []match
	at := 0
	for tries := 0; tries < 12 && len(out) < n && at < len(text); tries++ {
		loc := p.re.FindStringIndex(text[at:])
		if loc == nil {
			break
		}
		start, end := at+loc[0], at+loc[1]
		if p.limit == 0 || end-start <= p.limit {
			out = append(out, match{start, end})
			at = max(end, start+1)
			continue
		}
		// Too far apart: a later beginning may be nearer to the same end.
		next := strings.IndexByte(text[start:], ' ')
		if next < 0 {
			break
		}
		at = start + next + 1
	}
	return out
}

type rulePack struct {
	Version string
	rules   []*rule
	// keywords finds which rules a passage could match in one pass over it; most
	// passages match none, which is what makes large bundles cheap.
	keywords  *ahocorasick.Trie
	byKeyword [][]int // index of keyword -> rules
	always    []int   // rules without keywords
}

var loadRules = sync.OnceValues(parseRulePack)

// rules returns the embedded pack. A pack that doesn't compile is a defect of the
// build that the tests catch, hence the panic.
func rules() *rulePack {
	pack, err := loadRules()
	if err != nil {
		panic(err)
	}
	return pack
}

func rulePackVersion() string { return rules().Version }

func parseRulePack() (*rulePack, error) {
	var head struct {
		Version string            `yaml:"version"`
		Terms   map[string]string `yaml:"terms"`
	}
	if err := decodeYAML("rules/terms.yaml", &head); err != nil {
		return nil, err
	}
	entries, err := ruleFiles.ReadDir("rules")
	if err != nil {
		return nil, fmt.Errorf("list rule files: %w", err)
	}
	pack := &rulePack{Version: head.Version}
	for _, e := range entries {
		if e.Name() == "terms.yaml" {
			continue
		}
		var file struct {
			Rules []*rule `yaml:"rules"`
		}
		if err := decodeYAML("rules/"+e.Name(), &file); err != nil {
			return nil, err
		}
		pack.rules = append(pack.rules, file.Rules...)
	}
	for _, r := range pack.rules {
		if err := r.compile(head.Terms); err != nil {
			return nil, err
		}
	}
	pack.indexKeywords()
	return pack, nil
}

func decodeYAML(name string, into any) error {
	data, err := ruleFiles.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	return nil
}

var termRef = regexp.MustCompile(`\{\{(\w+)\}\}`)

func (r *rule) compile(terms map[string]string) error {
	for _, list := range []struct {
		from []string
		to   *[]pattern
	}{{r.Any, &r.any}, {r.All, &r.all}, {r.Not, &r.not}} {
		for _, source := range list.from {
			compiled, err := compilePattern(expandTerms(source, terms))
			if err != nil {
				return fmt.Errorf("rule %s: %w", r.ID, err)
			}
			*list.to = append(*list.to, compiled)
		}
	}
	if r.Signal > 0 {
		r.Severity, r.Confidence = SeverityInfo, 1
	}
	if len(r.any)+len(r.all) == 0 || severityRank[r.Severity] == 0 && r.Severity != SeverityInfo || r.Confidence <= 0 {
		return fmt.Errorf("rule %s: needs patterns, a severity and a confidence", r.ID)
	}
	return nil
}

// expandTerms replaces {{name}} by the term of that name; terms may use terms.
func expandTerms(pattern string, terms map[string]string) string {
	for range 4 {
		if !termRef.MatchString(pattern) {
			return pattern
		}
		pattern = termRef.ReplaceAllStringFunc(pattern, func(ref string) string {
			return "(?:" + terms[termRef.FindStringSubmatch(ref)[1]] + ")"
		})
	}
	return pattern
}

func (p *rulePack) indexKeywords() {
	at := map[string]int{}
	var words []string
	for i, r := range p.rules {
		if len(r.Keywords) == 0 {
			p.always = append(p.always, i)
		}
		for _, w := range r.Keywords {
			k, ok := at[w]
			if !ok {
				k = len(words)
				at[w] = k
				words = append(words, w)
				p.byKeyword = append(p.byKeyword, nil)
			}
			p.byKeyword[k] = append(p.byKeyword[k], i)
		}
	}
	p.keywords = ahocorasick.NewTrieBuilder().AddStrings(words).Build()
}

// candidates are the rules whose keywords occur in the passage.
func (p *rulePack) candidates(passage *passage) []*rule {
	picked := make([]bool, len(p.rules))
	for _, i := range p.always {
		picked[i] = true
	}
	p.keywords.Walk([]byte(passage.lower), func(_, _, pattern int64) bool {
		for _, i := range p.byKeyword[pattern] {
			picked[i] = true
		}
		return true
	})
	var out []*rule
	for i, yes := range picked {
		if yes {
			out = append(out, p.rules[i])
		}
	}
	return out
}

// match is where a rule matched in a passage.
type match struct{ start, end int }

// find returns the rule's first match that the surrounding text discounts least.
func (r *rule) find(p *passage, kind fileKind) (match, float64, bool) {
	if r.Encoded && p.encoding == "" {
		return match{}, 0, false
	}
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, kind) || len(r.Contexts) > 0 && !slices.Contains(r.Contexts, p.context) {
		return match{}, 0, false
	}
	best, factor, found := match{}, 0.0, false
	consider := func(m match) {
		if declares(p, m) {
			return
		}
		if r.Sentences > 0 && len(sentenceEnd.FindAllStringIndex(p.text[m.start:m.end], r.Sentences)) >= r.Sentences {
			return
		}
		f := 1.0
		// A lesson shows what such text looks like.
		if !r.Literal || p.taught {
			f = p.discount(m.start, m.end)
		}
		if !found || f > factor {
			best, factor, found = m, f, true
		}
	}
	for _, part := range r.all {
		matches := part.findAll(p.text, 1)
		if len(matches) == 0 {
			return match{}, 0, false
		}
		if len(r.any) == 0 {
			consider(matches[0])
		}
	}
	for _, alternative := range r.any {
		for _, m := range alternative.findAll(p.text, 4) {
			consider(m)
		}
	}
	if !found || slices.ContainsFunc(r.not, func(p2 pattern) bool { return p2.re.MatchString(p.text) }) {
		return match{}, 0, false
	}
	if r.Consent && consentText.MatchString(p.text) {
		factor *= consentFactor
	}
	return best, factor, true
}

// declaredValue is the beginning of a list in a declaration of capabilities, whose key
// reads like a verb.
var declaredValue = re2.MustCompile(`(?i)^(?:read|write|append)s?:\s*(?:["'\[{~./]|$)`)

func declares(p *passage, m match) bool {
	return p.context == ctxFrontMatter && declaredValue.MatchString(p.text[m.start:min(len(p.text), m.start+24)])
}

// sentenceEnd is the end of a sentence or the beginning of another list item.
var sentenceEnd = re2.MustCompile(`[.!?]["')]*\s+(?:[A-Z"'(]|\d)|;\s|\s[-*+]\s|\s\d{1,2}[.)]\s`)

// consentFactor is what is left of a consent rule's confidence where the user decides.
const consentFactor = 0.6

func (r *rule) describe(encoding string) string {
	if encoding == "" {
		return r.Message
	}
	return strings.TrimSuffix(r.Message, ".") + ". The text was hidden as " + encoding + "."
}
