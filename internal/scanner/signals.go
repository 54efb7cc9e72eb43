package scanner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	re2 "github.com/wasilibs/go-re2"
)

// section gathers weak signals between two headings. Attacks in prose rarely use one
// telling phrase; they combine an act, a reason and a way of not being noticed.
type section struct {
	heading string
	weights map[string]float64 // by rule: the strongest occurrence
	rules   map[string]*rule
	at      map[string]signalPlace
	text    strings.Builder
}

// signalPlace is where a signal stands.
type signalPlace struct {
	line    int
	snippet string
}

// The thresholds of a section's summed weights.
const (
	signalsMedium = 1.15
	signalsHigh   = 1.75
	userInControl = 0.7 // taken off where the user decides
	// Less where the same section keeps something from the user: who is not told
	// does not decide.
	userHalfInControl = 0.3
)

// consentText is prose that leaves the decision with the user.
var consentText = re2.MustCompile(`(?i)\b(ask (the user|them|first|before)|(with|after|get|wait for|needs?|requires?|obtain) (the |their |explicit )?(user's |user )?(consent|permission|approval|agreement|confirmation|go-ahead|ok)|only (if|when|after) (the user|they|asked)|(if|when|once|unless) (the user|they) (wants?|asks? for|requests?|agrees?|confirms?|says? so|approves?|chooses?)|show (the user|them|it|the \w+)( \w+){0,3} (first|before|and|then)|let the user|confirm with|wait for (?:a |an |the |their |an explicit )?["“']?(?:yes|ok|go-ahead)\b|before (you |they )?(sending|uploading|deleting|running|anything is|send|upload|delete|run|save|write|install|change|apply)|(ask|confirm|check) (before|first)|(show|propose|offer|suggest) (it|a diff|them|the|to)\b[^.]{0,60}\b(ask|before|confirm|note|first)|offer to|on yes\b|the user (does|merges|decides|approves|copies|runs|confirms|agrees)|never (send|share|upload|post|forward|store|delete|print|log|ask for)|do(es)? not (send|share|upload|leave|store|transmit|log)|nothing (is sent|leaves|is uploaded)|stays on|pregunta (antes|al usuario)|demande (d'abord|à l'utilisateur|confirmation)|frage? (zuerst|den nutzer|nach)|vorher fragen)\b`)

func (s *section) enter(v *visit, b block) {
	if b.heading != s.heading || s.weights == nil || b.context == ctxSource {
		s.close(v)
		*s = section{heading: b.heading, weights: map[string]float64{}, rules: map[string]*rule{}, at: map[string]signalPlace{}}
	}
	if b.context != ctxCode && s.text.Len() < maxPassage {
		s.text.WriteString(strings.Join(b.lines, " "))
		s.text.WriteByte(' ')
	}
}

func (s *section) add(r *rule, p *passage, m match, factor float64) {
	switch p.context {
	case ctxProse, ctxComment, ctxQuote, ctxTable, ctxHeading, ctxFrontMatter:
	case ctxSource:
		if !sentences(p.text[max(0, m.start-80):min(len(p.text), m.end+80)]) {
			return
		}
	default:
		return
	}
	if s.weights == nil {
		return
	}
	if w := r.Signal * factor; w > s.weights[r.ID] {
		s.weights[r.ID] = w
		s.rules[r.ID] = r
		s.at[r.ID] = signalPlace{p.lineAt(m.start), p.text[m.start:min(m.end, m.start+maxSnippet)]}
	}
}

// sentences tells natural language within a program or a configuration file (a
// description, a docstring, a comment) from code: mostly words with spaces between.
func sentences(text string) bool {
	letters, code := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || r == ' ':
			letters++
		case strings.ContainsRune("(){}[];=<>$|&", r):
			code++
		}
	}
	return letters*10 >= len([]rune(text))*7 && code*20 <= letters
}

// conceals reports a section that hides something or has an answer ready for a user
// who notices.
func (s *section) conceals() bool {
	return s.weights["signal.out_of_sight"] >= 0.5 || s.weights["signal.deflect"] >= 0.5 || s.weights["signal.observed"] >= 0.5
}

// close reports a section whose signals of different kinds add up.
func (s *section) close(v *visit) {
	if len(s.weights) < 2 {
		return
	}
	// Heaviest first and then by name, so that the same text gives the same finding.
	ids := slices.SortedFunc(maps.Keys(s.weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.weights[b], s.weights[a]), cmp.Compare(a, b))
	})
	sum := 0.0
	for _, id := range ids {
		sum += s.weights[id]
	}
	if consentText.MatchString(s.text.String()) {
		if s.conceals() {
			sum -= userHalfInControl
		} else {
			sum -= userInControl
		}
	}
	sum *= v.placeFactor(s.text.String())
	if sum < signalsMedium {
		return
	}
	titles := make([]string, 0, len(ids))
	for _, id := range ids {
		titles = append(titles, s.rules[id].Title)
	}
	severity, confidence := SeverityMedium, 0.62+min(0.15, (sum-signalsMedium)/4)
	if sum >= signalsHigh {
		severity, confidence = SeverityHigh, 0.62+min(0.16, (sum-signalsHigh)/4)
	}
	first := s.at[ids[0]]
	category := s.rules[ids[0]].Category
	v.findings.add(Finding{
		RuleID: "static." + category + ".combined_signals", Category: category, Severity: severity, Confidence: confidence,
		Title:       "Several signs of steering the agent against its user",
		Message:     fmt.Sprintf("One section combines %s.", strings.Join(titles, ", ")),
		Remediation: "Say openly what is done and why, and leave the decision with the user.",
		FilePath:    v.file.Path, LineStart: first.line, Snippet: first.snippet,
	}, s.heading+first.snippet)
}
