package scanner

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/course-marketplace/backend/internal/wording"
)

//go:embed wording.tsv
var wordingModel []byte

// defaultWording is the model trained on the corpus, but for its holdout; see TestWordingModel.
var defaultWording = sync.OnceValue(func() *wording.Model {
	m, err := wording.Parse(wordingModel)
	if err != nil {
		panic("scanner: the embedded wording model is broken: " + err.Error())
	}
	return m
})

// WordingReport is what the wording model makes of a bundle's text, read as a whole.
type WordingReport struct {
	// Likelihood of a bundle that works against its user, 0 to 1, going by the words
	// alone and taking one bundle in two to be harmful.
	Likelihood float64 `json:"likelihood"`
	// Lines are those that speak most for it, heaviest first.
	Lines []WordingLine `json:"lines"`
}

// WordingLine is one of the lines that a likelihood rests on.
type WordingLine struct {
	FilePath string `json:"file_path"`
	Line     int    `json:"line"`
}

// How the score of a reading becomes a likelihood, 1 / (1 + e^-(bias + scale × score)):
// fitted to samples which the model that read them had not seen.
const (
	wordingBias  = -0.55
	wordingScale = 1.65
)

// readWords gives a file's lines to the model's reader.
func readWords(r *wording.Reader, path, text string) {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		r.Line(wording.Place{Path: path, Line: n}, normalizeLine(line))
	}
}

// wordingReport is nil for a bundle without text.
func wordingReport(r wording.Reading) *WordingReport {
	if r.Tokens == 0 {
		return nil
	}
	odds := wordingBias + wordingScale*r.Score
	likelihood := min(max(1/(1+math.Exp(-odds)), 0.01), 0.99) // nothing is certain
	report := &WordingReport{Likelihood: math.Round(100*likelihood) / 100, Lines: []WordingLine{}}
	for _, l := range r.Lines {
		report.Lines = append(report.Lines, WordingLine{l.Path, l.Line})
	}
	return report
}

// ruleWording is the finding of a bundle whose wording alone is reason for a review.
const ruleWording = "static.wording.resembles_harm"

var wordingRules = map[string]structureRule{ruleWording: {
	category: "wording", severity: SeverityMedium,
	title:       "Worded like bundles that work against their user",
	message:     "The choice of words, read statistically and without their meaning, is that of harmful bundles rather than of honest ones.",
	remediation: "Say plainly what is done, for whom and why, and leave the decision with the user.",
}}

// wordingOfBundle reports the reading once every file was read.
func wordingOfBundle(r *run) {
	r.wording = wordingReport(r.state.(*staticState).words.Reading())
	r.reportWording()
}

func (r *run) reportWording() {
	if r.wording == nil || r.wording.Likelihood < wordingReview {
		return
	}
	rule := wordingRules[ruleWording]
	f := Finding{
		RuleID: ruleWording, Category: rule.category, Severity: rule.severity, Confidence: r.wording.Likelihood,
		Title: rule.title, Message: rule.message, Remediation: rule.remediation,
	}
	if lines := r.wording.Lines; len(lines) > 0 {
		f.FilePath, f.LineStart = lines[0].FilePath, lines[0].Line
		places := make([]string, len(lines))
		for i, l := range lines {
			places[i] = fmt.Sprintf("%s:%d", l.FilePath, l.Line)
		}
		f.Message += " It shows most in " + strings.Join(places, ", ") + "."
	}
	r.findings.add(f, "")
}
