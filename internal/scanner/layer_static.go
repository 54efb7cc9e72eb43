package scanner

import (
	"math"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/course-marketplace/backend/internal/wording"
)

func staticLayer() Layer {
	return Layer{
		Name: LayerStatic, Limit: 2 * time.Minute, visit: visitStatic, after: wordingOfBundle,
		newState: func() any { return &staticState{words: defaultWording().NewReader()} },
	}
}

// staticState is what the layer knows about the bundle as a whole.
type staticState struct {
	words *wording.Reader
}

// ruleStartUp is the rule that a bundle about cron or services meets by its purpose.
const ruleStartUp = "static.persistence.startup"

// securitySubject names a course's subject in which attacks are shown: its main file is
// an outline, so its lessons, not it, hold the vocabulary.
var securitySubject = regexp.MustCompile(`(?i)\b(security|infosec|injections?|phishing|malware|attacks?|attackers?|incidents?|privilege[- ]escalation|hardening|forensics?|ctf|capture the flag|supply[- ]chain|threats?|defen[cs]e|fraud|scams?|owasp|pentest\w*|hacking|(?:red|blue|purple)[- ]team\w*|(?:reverse|web)[- ]?shells?|intrusions?|exploits?|exploitation|vulnerabilit(?:y|ies)|exfiltration|ransomware|spyware|backdoors?|detection engineering|siem|yara|social engineering|obfuscat\w+|typosquat\w*|(?:hidden|invisible) (?:characters?|text)|(?:check|review|audit|moderat)\w* (?:\w+ ){0,3}(?:skills?|agents?|bundles?|settings|configs?)|inje[çc]\w+|inyecci\w+|ataques?|attaques?|angriff\w*|segurança|seguridad|sécurité|sicherheit\w*|hameçonnage|estafas?|fraudes?|suspeit\w+)`)

// teachesSecurity reports a bundle whose main file is dense with the vocabulary of
// defending against attacks, or a course on that subject. It softens what is quoted or
// shown as code, never what is said to the agent directly.
func teachesSecurity(b *Bundle) bool { return aboutOf(b).security }

func denseInDiscussion(text string) bool {
	hits := len(discussion.FindAllStringIndex(text, 60))
	return hits >= 3 && hits*300 >= len(text)
}

// staticText is the text of a file that the layer reads, if it does.
func staticText(f File, info fileInfo) (text string, ok bool, err error) {
	if !info.isText() || info.role == roleLock {
		return "", false, nil
	}
	if text, err = f.readText(); err != nil {
		return "", false, err
	}
	if info.kind == kindNotebook {
		if plain, ok := notebookText(text); ok {
			text = plain
		}
	}
	return text, true, nil
}

// visitStatic matches the rule pack against a file's passages, plain and decoded.
func visitStatic(v *visit) {
	text, ok, err := staticText(v.file, v.info)
	if err != nil {
		v.findings.indeterminate(v.file.Path, "unreadable", "The file could not be read: "+readReason(err))
	}
	if !ok {
		return
	}
	readWords(v.state.(*staticState).words, v.file.Path, text)
	v.signals = &section{}
	if tags := tagText(text); readable(tags) {
		v.matchHidden(hidden{"invisible Unicode tags", tags, 0}, text)
	}
	for _, b := range blocksOf(v.info, text) {
		if v.ctx.Err() != nil {
			return
		}
		v.signals.enter(v, b)
		v.matchBlock(b)
	}
	v.signals.close(v)
	if v.info.role == roleLicence {
		return
	}
	for _, h := range decodeHidden(text) {
		v.matchHidden(h, text)
	}
}

func (v *visit) matchBlock(b block) {
	for _, p := range newPassage(b).pieces() {
		if v.ctx.Err() != nil {
			return
		}
		p.taught = teachesSecurity(v.bundle)
		if p.taught && v.info.kind == kindText && p.context == ctxProse && !sentences(p.text) {
			p.context = ctxCode // a listing to learn from, such as a log
		}
		v.matchPassage(&p)
	}
	if b.context == ctxSource || b.context == ctxCode {
		return
	}
	line := b.start
	for _, part := range windows(strings.Join(b.lines, "\n"), maxBlob) {
		for _, h := range disguised(part) {
			v.matchHidden(h, strings.Repeat("\n", line-1)+part)
		}
		line += strings.Count(part, "\n")
	}
}

// matchHidden runs the rules over decoded text; what it finds is reported at the
// line of the encoded run.
func (v *visit) matchHidden(h hidden, source string) {
	line := 1 + strings.Count(source[:min(h.offset, len(source))], "\n")
	context := ctxProse
	if v.info.isCode() {
		context = ctxSource
	}
	p := newPassage(block{context: context, start: line, lines: []string{strings.ReplaceAll(h.text, "\n", " ")}})
	p.encoding = h.encoding
	for _, piece := range p.pieces() {
		v.matchPassage(&piece)
	}
}

func (v *visit) matchPassage(p *passage) {
	for _, r := range rules().candidates(p) {
		m, factor, ok := r.find(p, v.info.kind)
		if !ok {
			continue
		}
		if r.Signal > 0 {
			v.signals.add(r, p, m, factor)
			continue
		}
		confidence := r.Confidence * factor * v.placeFactor(p.text)
		if r.ID == ruleStartUp && statedStartUp(v.bundle) {
			confidence *= consentFactor
		}
		if p.encoding != "" {
			confidence = math.Min(1, confidence*1.15)
		}
		v.findings.add(Finding{
			RuleID: r.ID, Category: r.Category, Severity: r.Severity, Confidence: confidence,
			Title: r.Title, Message: r.describe(p.encoding), Remediation: r.Remediation,
			FilePath: v.file.Path, LineStart: p.lineAt(m.start), LineEnd: p.lineAt(max(m.start, m.end-1)),
			Snippet: p.text[m.start:min(m.end, m.start+maxSnippet)],
		}, p.text[m.start:m.end])
	}
}

// agentNamed is text that speaks of agents, which a licence does not.
var agentNamed = regexp.MustCompile(`(?i)\b(a\.?i\.?|assistants?|agents?|language models?|llms?|chatbots?)\b`)

// placeFactor is roleFactor, less a licence's discount for text that speaks to
// agents, and with one for tables of data.
func (v *visit) placeFactor(text string) float64 {
	if v.info.role == roleLicence && agentNamed.MatchString(text) {
		return 0.95
	}
	switch strings.ToLower(path.Ext(v.file.Path)) {
	case ".csv", ".tsv", ".jsonl":
		return v.datasetFactor() * roleFactor(v.info.role)
	case ".json", ".yaml", ".yml":
		return v.phraseFactor() * roleFactor(v.info.role)
	}
	return roleFactor(v.info.role)
}

// labelColumn is how a collection of examples says what each of them is.
var labelColumn = regexp.MustCompile(`(?i)["']?\b(label|class|is_?attack|is_?injection|attack_?type|malicious|expected|verdict|ground_?truth|target|prompt|completion|act)\b["']?\s*[,:;\t\n]`)

// datasetFactor: a labelled collection holds attacks as examples. In other data an
// attack stands alone, addressed to whoever reads the row.
func (v *visit) datasetFactor() float64 {
	head, err := v.file.head() // once per match, so no more of the file than needed
	if err != nil || labelColumn.Match(head[:min(len(head), 400)]) {
		return 0.6
	}
	return 1
}

var (
	// screening is the purpose of a bundle that compares texts with lists of bad ones.
	screening = regexp.MustCompile(`(?i)\b(spam|scams?|phish\w*|moderat\w+|abus\w+|toxic\w*|filter\w*|detect\w*|classif\w+|guards?|lint\w*)\b`)
	// settingValue is a setting rather than an item of a list.
	settingValue = regexp.MustCompile(`(?m)^\s*["']?[\w.-]+["']?\s*:\s*["']?[\w{]|[{,]\s*"[\w.-]+"\s*:\s*["\w{]`)
)

// phraseFactor: a file that holds nothing but lists, in a bundle that screens texts,
// is what they are compared with.
func (v *visit) phraseFactor() float64 {
	head, err := v.file.head()
	if err != nil || settingValue.Match(head) || !screening.MatchString(aboutOf(v.bundle).purpose) {
		return 1
	}
	return 0.4
}

// roleFactor lowers confidence where attack-like text is expected: fixtures and
// tests hold bad input on purpose, a licence is prose nobody obeys, vendored code is
// somebody else's.
func roleFactor(role fileRole) float64 {
	switch role {
	case roleTest:
		return 0.3
	case roleLicence:
		return 0.4
	case roleVendored:
		return 0.5
	case roleExample:
		return 0.85
	}
	return 1
}
