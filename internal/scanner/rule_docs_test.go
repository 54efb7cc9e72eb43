package scanner

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/scanner-rules.md")

// TestRuleDocumentation keeps docs/scanner-rules.md in step with the rules:
// go test ./internal/scanner -run TestRuleDocumentation -args -update-docs
func TestRuleDocumentation(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "scanner-rules.md")
	want := ruleDocumentation()
	if *updateDocs {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/scanner-rules.md is not up to date; run go test ./internal/scanner -run TestRuleDocumentation -args -update-docs")
	}
}

type documented struct {
	id, category, title, message, remediation string
	severity                                  Severity
}

func ruleDocumentation() string {
	var all []documented
	signals := []string{}
	for _, r := range rules().rules {
		if r.Signal > 0 {
			signals = append(signals, fmt.Sprintf("| `%s` | %s | %s | %.2f |", r.ID, r.Category, r.Title, r.Signal))
			continue
		}
		all = append(all, documented{r.ID, r.Category, r.Title, r.Message, r.Remediation, r.Severity})
	}
	for id, b := range behaviors {
		all = append(all, documented{string(id), b.category, b.title, b.message + ".", b.remediation, b.severity})
	}
	for _, table := range []map[string]structureRule{structureRules, dependencyRules, wordingRules} {
		for id, s := range table {
			all = append(all, documented{id, s.category, s.title, s.message, s.remediation, s.severity})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	var sb strings.Builder
	fmt.Fprintf(&sb, ruleDocHead, rules().Version, len(all), sureEnough, severityWeight[SeverityInfo], severityWeight[SeverityLow], severityWeight[SeverityMedium], severityWeight[SeverityHigh], severityWeight[SeverityCritical],
		repeatFactor, wordingReview, pointsPerOdds, reviewSuspicion, seriousScore, sureEnough, blockSuspicion, seriousScore, blockConfidence)
	for _, d := range all {
		fmt.Fprintf(&sb, "### `%s`\n\n%s. Category `%s`, severity `%s`.\n\n%s %s\n\n", d.id, d.title, d.category, d.severity, d.message, d.remediation)
	}
	fmt.Fprintf(&sb, "## Signals\n\nA signal is never reported alone. Where signals of different kinds meet in one section, their weights are added; prose that leaves the decision with the user takes %.2f off. From %.2f the section is reported as `static.<category>.combined_signals` with severity medium, from %.2f with severity high.\n\n| signal | category | what it notices | weight |\n|---|---|---|---|\n%s\n", userInControl, signalsMedium, signalsHigh, strings.Join(signals, "\n"))
	sb.WriteString("\n## Secrets\n\nThe secrets layer applies the default rules of gitleaks 8.30.1 (`secrets.<rule>`) and looks for passwords in URLs (`secrets.password_in_url`). Placeholders and documented example keys are left out; a snippet never shows the value.\n")
	return sb.String()
}

const ruleDocHead = `<!-- Generated from the rule pack and the code's rules; see TestRuleDocumentation. -->
# The scanner's rules

Rule pack %s, %d rules, and a set of weak signals that count only together. The scanner reads a bundle and runs nothing of it. Six layers look at it: ` + "`structure`, `static`, `secrets`, `dependencies`, `behavioral` and `capabilities`" + ` (the last compares what the others observed with the declaration, see [capabilities.md](capabilities.md)).

## Severity, confidence, risk score

*Severity* says how bad it is if the finding is right, *confidence* (0 to 1) how likely it is right. Context lowers confidence: quotation, code block, negation, a sentence that reports an attack, a bundle that teaches security, tests, licences, vendored code. Text that is hidden, in a comment or behind an encoding is not discounted.

The risk score is 100 × (1 − Π(1 − weight × confidence × repeat)). A confidence below %.1f counts squared. Weights: info %.2f, low %.2f, medium %.2f, high %.2f, critical %.2f. Each further finding of one rule counts %.2f of the one before. Findings with one fingerprint, or on the same lines of a file, count once, by the worst.

## Wording

Attacks in prose have no end of wordings, and no list of phrases has them all. So the static layer also reads a bundle's text with a statistical model: a logistic regression over words and pairs of words, trained on the labelled corpus in the repository (` + "`internal/scanner/testdata/corpus`" + `) and on real documents, whose weights stand in ` + "`internal/scanner/wording.tsv`" + ` for everybody to read. Its ` + "`likelihood`" + ` (0 to 1) says how much the text reads like bundles that work against their user, going by the words alone; the report names the lines that weigh most. Names of hosts, numbers and encoded data are left out. It is read through two windows, a wide one for the manner of the whole and a narrow one for a passage that a long text would wash out, and of each the worst place counts. From %.2f on, where it is reason enough for a review, the likelihood is also the finding ` + "`static.wording.resembles_harm`" + `. The model understands nothing: take it as a hint where to read.

## Verdict

The verdict is advice; a reviewer decides. It weighs wording and findings together: *suspicion* = ln(likelihood / (1 − likelihood)) + risk score / %.0f.

- **review**: suspicion is at least %.1f, or the risk score at least %d, or there is something to look at whatever the wording: a file could not be read, or a finding of the layers structure, secrets or capabilities has severity medium or worse and a confidence of at least %.1f.
- **block**: suspicion is at least %.1f, the risk score at least %d, and one finding of severity high or critical has a confidence of at least %.2f.
- **allow**: everything else.

A file that a layer can't read, or has no time for, gives ` + "`<layer>.indeterminate.<reason>`" + `, which is at least a review.

## On the command line

` + "`marketplace scan PATH`" + ` scans a folder, a zip or a tar.gz; ` + "`--json`" + ` and ` + "`--sarif`" + ` (SARIF 2.1.0) are for programs. Exit codes: 0 allow, 10 review, 20 block, 2 the bundle could not be scanned. With ` + "`--fail-on block`" + ` a review exits with 0.

## Rules

`
