package scanner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity says how bad it is if the finding is right.
type Severity string

// The severities, mildest first.
const (
	SeverityInfo     Severity = "info"
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
)

var severityRank = map[Severity]int{SeverityInfo: 0, SeverityLow: 1, SeverityMedium: 2, SeverityHigh: 3, SeverityCritical: 4}

// Outcome of one check.
type Outcome string

// A layer that ran and found nothing says so with one pass finding.
const (
	OutcomePass Outcome = "pass"
	OutcomeWarn Outcome = "warn"
	OutcomeFail Outcome = "fail"
)

// CategoryIndeterminate marks what could not be read or finished.
const CategoryIndeterminate = "indeterminate"

// Finding is one observation worth a reviewer's attention. Fingerprint is stable
// across runs and across edits elsewhere in the file: it covers the rule, the path
// and the matched content, not the line.
type Finding struct {
	Layer       string   `json:"layer"`
	RuleID      string   `json:"rule_id"`
	Category    string   `json:"category"`
	Severity    Severity `json:"severity"`
	Outcome     Outcome  `json:"outcome"`
	Confidence  float64  `json:"confidence"` // 0 to 1
	Title       string   `json:"title"`
	Message     string   `json:"message"`
	FilePath    string   `json:"file_path,omitempty"`
	LineStart   int      `json:"line_start,omitempty"`
	LineEnd     int      `json:"line_end,omitempty"`
	Snippet     string   `json:"snippet,omitempty"`
	Remediation string   `json:"remediation,omitempty"`
	Fingerprint string   `json:"fingerprint"`
}

const (
	maxSnippet          = 200
	maxFindingsPerLayer = 300
	maxPerRuleAndFile   = 5
)

// collector deduplicates a layer's findings and bounds how many there are, so that
// a hostile bundle can't flood a reviewer or a workflow's history.
type collector struct {
	layer    string
	findings []Finding
	seen     map[string]int
	perRule  map[string]int
	dropped  int
}

func newCollector(layer string) *collector {
	return &collector{layer: layer, seen: map[string]int{}, perRule: map[string]int{}}
}

// add records f; key is the content that identifies it within its rule and file.
func (c *collector) add(f Finding, key string) {
	f.Layer = c.layer
	f.Confidence = clampConfidence(f.Confidence)
	f.Outcome = outcomeOf(f)
	f.Snippet = visible(f.Snippet)
	if f.LineEnd < f.LineStart {
		f.LineEnd = f.LineStart
	}
	f.Fingerprint = fingerprint(f.RuleID, f.FilePath, key)
	if i, ok := c.seen[f.Fingerprint]; ok {
		if f.Confidence > c.findings[i].Confidence {
			c.findings[i] = f
		}
		return
	}
	slot := f.RuleID + "\x00" + f.FilePath
	if c.perRule[slot] >= maxPerRuleAndFile || len(c.findings) >= maxFindingsPerLayer {
		c.dropped++
		return
	}
	c.perRule[slot]++
	c.seen[f.Fingerprint] = len(c.findings)
	c.findings = append(c.findings, f)
}

// indeterminate records that path (or the whole layer, "") could not be read.
func (c *collector) indeterminate(path, reason, message string) {
	c.add(Finding{
		RuleID:      c.layer + ".indeterminate." + reason,
		Category:    CategoryIndeterminate,
		Severity:    SeverityMedium,
		Confidence:  0.7,
		Title:       "Not fully checked",
		Message:     message,
		FilePath:    path,
		Remediation: "Make the file smaller, plainer or well formed, or have a person read it.",
	}, reason)
}

func (c *collector) finish() []Finding {
	if c.dropped > 0 {
		c.findings = append(c.findings, Finding{
			Layer: c.layer, RuleID: c.layer + ".summary.more_findings", Category: "summary", Severity: SeverityInfo, Outcome: OutcomeWarn, Confidence: 1,
			Title:       "More findings of the same kind",
			Message:     fmt.Sprintf("%d further findings repeat rules already reported for the same files and are not listed.", c.dropped),
			Fingerprint: fingerprint(c.layer+".summary.more_findings", "", ""),
		})
	}
	if len(c.findings) == 0 {
		return []Finding{{
			Layer: c.layer, RuleID: c.layer + ".pass", Category: "pass", Severity: SeverityInfo, Outcome: OutcomePass, Confidence: 1,
			Title: "Nothing found", Message: "The " + c.layer + " layer read every file and found nothing.",
			Fingerprint: fingerprint(c.layer+".pass", "", ""),
		}}
	}
	sortFindings(c.findings)
	return c.findings
}

func sortFindings(findings []Finding) {
	sort.SliceStable(findings, func(i, j int) bool { return findingLess(findings[i], findings[j]) })
}

func findingLess(a, b Finding) bool {
	if ra, rb := severityRank[a.Severity], severityRank[b.Severity]; ra != rb {
		return ra > rb
	}
	if a.Confidence != b.Confidence {
		return a.Confidence > b.Confidence
	}
	if a.FilePath != b.FilePath {
		return a.FilePath < b.FilePath
	}
	return a.LineStart < b.LineStart
}

func clampConfidence(c float64) float64 {
	c = float64(int(c*100+0.5)) / 100
	return min(max(c, 0.05), 1)
}

// outcomeOf: only what is both serious and likely fails; the rest warns.
func outcomeOf(f Finding) Outcome {
	if severityRank[f.Severity] >= severityRank[SeverityHigh] && f.Confidence >= 0.7 {
		return OutcomeFail
	}
	return OutcomeWarn
}

var spaceRun = regexp.MustCompile(`\s+`)

func fingerprint(rule, path, content string) string {
	sum := sha256.Sum256([]byte(rule + "\x00" + path + "\x00" + strings.ToLower(spaceRun.ReplaceAllString(strings.TrimSpace(content), " "))))
	return hex.EncodeToString(sum[:16])
}

// visible trims a snippet to one line and spells out what a reader could not see:
// control, bidirectional, zero-width and tag characters.
func visible(s string) string {
	var sb strings.Builder
	for _, r := range strings.TrimSpace(s) {
		if sb.Len() >= maxSnippet {
			sb.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			sb.WriteByte(' ')
		case r == utf8.RuneError || unicode.IsControl(r) || isInvisible(r):
			fmt.Fprintf(&sb, "<U+%04X>", r)
		default:
			sb.WriteRune(r)
		}
	}
	return sb.String()
}
