package scanner

import (
	"math"
	"sort"
)

// Verdict is advice to the reviewer, who decides.
type Verdict string

// The verdicts.
const (
	VerdictAllow  Verdict = "allow"
	VerdictReview Verdict = "review"
	VerdictBlock  Verdict = "block"
)

// The thresholds of the verdict, repeated in docs/scanner-rules.md.
const (
	reviewScore      = 12
	reviewConfidence = 0.6  // of one medium or worse finding
	blockScore       = 60   // and at least one finding that is
	blockConfidence  = 0.8  // this sure and high or critical
	repeatFactor     = 0.35 // each further hit of one rule counts this much of the one before
)

// severityWeight is the share of the remaining risk that one certain finding takes.
var severityWeight = map[Severity]float64{SeverityInfo: 0, SeverityLow: 0.04, SeverityMedium: 0.20, SeverityHigh: 0.50, SeverityCritical: 0.80}

// riskScore is 100 × (1 − Π(1 − weight × repeat)) over distinct
// findings: a second finding adds to what risk is left, so a hundred trifles never
// look like one theft, and hits on the same lines count once, by the worst of them.
func riskScore(findings []Finding) int {
	remaining := 1.0
	repeats := map[string]int{}
	for _, f := range distinct(findings) {
		repeat := math.Pow(repeatFactor, float64(repeats[f.RuleID]))
		repeats[f.RuleID]++
		remaining *= 1 - weight(f)*repeat
	}
	return int(math.Round(100 * (1 - remaining)))
}

// distinct drops passes and, of findings that overlap in one file and speak of the
// same category, all but the worst.
func distinct(findings []Finding) []Finding {
	ranked := make([]Finding, 0, len(findings))
	for _, f := range findings {
		if f.Outcome != OutcomePass {
			ranked = append(ranked, f)
		}
	}
	sort.SliceStable(ranked, func(i, j int) bool { return weight(ranked[i]) > weight(ranked[j]) })
	type place struct {
		path string
		line int
	}
	taken := map[place]bool{}
	seen := map[string]bool{}
	kept := ranked[:0]
	for _, f := range ranked {
		if seen[f.Fingerprint] {
			continue
		}
		seen[f.Fingerprint] = true
		overlaps := false
		for line := f.LineStart; line <= min(f.LineEnd, f.LineStart+maxBlockLines) && f.LineStart > 0; line++ {
			overlaps = overlaps || taken[place{f.FilePath, line}]
			taken[place{f.FilePath, line}] = true
		}
		if !overlaps {
			kept = append(kept, f)
		}
	}
	return kept
}

// weight is what one finding is worth. Doubt counts twice: below reviewConfidence the
// confidence is squared, so that a course full of quoted attacks stays below what one
// likely attack scores.
func weight(f Finding) float64 {
	c := f.Confidence
	if c < reviewConfidence {
		c *= c
	}
	return severityWeight[f.Severity] * c
}

// verdictOf turns findings and score into advice.
func verdictOf(findings []Finding, score int) Verdict {
	verdict := VerdictAllow
	if score >= reviewScore {
		verdict = VerdictReview
	}
	for _, f := range findings {
		if f.Outcome == OutcomePass {
			continue
		}
		rank := severityRank[f.Severity]
		if rank >= severityRank[SeverityMedium] && f.Confidence >= reviewConfidence && verdict == VerdictAllow {
			verdict = VerdictReview
		}
		if score >= blockScore && rank >= severityRank[SeverityHigh] && f.Confidence >= blockConfidence {
			return VerdictBlock
		}
	}
	return verdict
}
