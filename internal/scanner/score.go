package scanner

import (
	"math"
	"slices"
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

// The thresholds of the verdict, repeated in docs/scanner-rules.md. They were chosen on
// samples that neither the rules nor the wording model had been tuned to.
const (
	pointsPerOdds   = 30.0 // of risk score weigh as much as one step of the wording's odds
	reviewSuspicion = -0.6
	blockSuspicion  = 2.0
	seriousScore    = 60   // never allowed; blocked with at least one finding that is
	blockConfidence = 0.85 // this sure and high or critical
	wordingReview   = 0.36 // likelihood that reaches reviewSuspicion alone, and so is a finding
)

const (
	sureEnough   = 0.6  // a confidence below counts squared
	repeatFactor = 0.35 // each further hit of one rule counts this much of the one before
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

// distinct drops passes and, of findings that overlap in one file, all but the worst.
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

// weight is what one finding is worth. Doubt counts twice: below sureEnough the
// confidence is squared, so that a course full of quoted attacks stays below what one
// likely attack scores.
func weight(f Finding) float64 {
	c := f.Confidence
	if c < sureEnough {
		c *= c
	}
	return severityWeight[f.Severity] * c
}

// suspicion weighs what the rules found and how the bundle is worded together, as
// logarithms of odds: 0 is as likely harmful as not. Either can tip what the other leaves
// open.
func suspicion(score int, w *WordingReport) float64 {
	odds := 0.0
	if w != nil {
		odds = math.Log(w.Likelihood / (1 - w.Likelihood))
	}
	return odds + float64(score)/pointsPerOdds
}

// verdictOf turns findings, score and wording into advice.
func verdictOf(findings []Finding, score int, w *WordingReport) Verdict {
	s := suspicion(score, w)
	switch {
	case s >= blockSuspicion && score >= seriousScore && slices.ContainsFunc(findings, damning):
		return VerdictBlock
	case s >= reviewSuspicion, score >= seriousScore, slices.ContainsFunc(findings, factual):
		return VerdictReview
	}
	return VerdictAllow
}

func damning(f Finding) bool {
	return severityRank[f.Severity] >= severityRank[SeverityHigh] && f.Confidence >= blockConfidence
}

// factual is a finding that a person has to look at however well a bundle is worded: a
// file that was not read, or something that is there or is not, such as a hidden text, a
// key, a host that the declaration leaves out.
func factual(f Finding) bool {
	switch f.Layer {
	case LayerStructure, LayerSecrets, LayerCapabilities:
		return severityRank[f.Severity] >= severityRank[SeverityMedium] && f.Confidence >= sureEnough
	}
	return f.Category == CategoryIndeterminate
}
