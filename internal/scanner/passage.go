package scanner

import (
	"sort"
	"strings"

	re2 "github.com/wasilibs/go-re2"
)

// passage is a block as the rules see it: one line of normalised text that knows
// which source line each offset came from.
type passage struct {
	block
	text    string
	lower   string
	offsets []int // start offset in text of each source line
	// encoding names how the text was hidden, "" for plain text.
	encoding string
	// taught is set in a bundle whose subject is security: what it quotes is likely an example.
	taught bool
}

const maxPassage = 16 << 10

func newPassage(b block) passage {
	var sb strings.Builder
	p := passage{block: b}
	for _, line := range b.lines {
		p.offsets = append(p.offsets, sb.Len())
		line = collapseSpace(normalizeLine(line))
		if b.context == ctxProse || b.context == ctxQuote || b.context == ctxTable {
			line = emphasis.Replace(line)
		}
		sb.WriteString(line)
		sb.WriteByte(' ')
	}
	p.text = strings.TrimRight(sb.String(), " ")
	p.lower = strings.ToLower(p.text)
	return p
}

// emphasis markers inside a phrase must not hide it from a pattern.
var emphasis = strings.NewReplacer("**", "", "__", "", "~~", "")

func collapseSpace(s string) string {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "  ") && !strings.ContainsAny(s, "\t\r\f\v") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// lineAt is the source line of an offset in the passage's text.
func (p *passage) lineAt(offset int) int {
	i := sort.SearchInts(p.offsets, offset+1) - 1
	return p.start + max(i, 0)
}

// pieces splits a very long passage (minified code, one-line JSON) so that no
// pattern runs over more than maxPassage at a time; neighbours overlap.
func (p passage) pieces() []passage {
	if len(p.text) <= maxPassage {
		return []passage{p}
	}
	const overlap = 512
	var out []passage
	for at := 0; at < len(p.text); at += maxPassage - overlap {
		end := min(at+maxPassage, len(p.text))
		piece := p
		piece.text = strings.ToValidUTF8(p.text[at:end], "")
		piece.lower = strings.ToLower(piece.text)
		piece.start, piece.offsets = p.lineAt(at), nil
		for _, o := range p.offsets {
			if o >= at && o < end {
				piece.offsets = append(piece.offsets, o-at)
			}
		}
		if len(piece.offsets) == 0 || piece.offsets[0] > 0 {
			piece.offsets = append([]int{0}, piece.offsets...)
		}
		out = append(out, piece)
		if end == len(p.text) {
			break
		}
	}
	return out
}

// regexpText is a pattern for finding such text, as detectors hold.
var regexpText = re2.MustCompile(`\\[swbd][+*]?|\(\?:|\.\*|\w\|\w`)

var (
	// discussion is the vocabulary of prose about attacks rather than of attacks.
	discussion = re2.MustCompile(`(?i)\b(attack(?:er|ers|s|ed|ing)?|adversar(?:y|ies|ial)|malicious(?:ly)?|malware|exploit(?:s|ed|ation)?|vulnerab\w+|injection(?:s)?|phish\w*|threat(?:s)?|red[- ]team\w*|owasp|cwe|cve|mitre|payloads?|detect(?:s|ed|ion|ing|or)?|defen[cs]es?|defend\w*|mitigat\w+|indicators?|suspicious|anti-?patterns?|bad example|dangerous|unsafe|insecure|never do|what not to|for example|such as|e\.g\.|looks? like|known as|so-called|victim|scam\w*|fraud\w*|con (?:man|artist)|privilege escalation|capture the flag|ctf|reverse shells?|forensic\w*|security (?:review|course|training|lesson|awareness|audit)|roub[oa]\w*|fraude\w*|golpes?\b|estafas?\b|betrug\w*|hameçonnage|suspeit\w+|sospechos\w+|verdächtig\w*|ataque\w*|atacante\w*|inyecci\w+|malicios\w+|ejemplo|angriff\w*|angreifer\w*|schadsoftware|beispiel\w*|attaqu\w+|exemple|malveillant\w*|injeç\w+|exemplo|esempio|attacco)\b|攻击|注入|例如|攻撃|インジェクション|공격|атак|злоумышленник|например|инъекц`)
	negation   = re2.MustCompile(`(?i)\b(never|do not|don't|does not|doesn't|must not|mustn't|should not|shouldn't|avoid|refuse to|refuse|won't|will not|cannot|can't|rather than|forbidden to|reject|block(?:s|ed|ing)?|flags?|warn(?:s|ing)? (?:against|about)|prevent(?:s|ing)?|detect(?:s|ing)?|any attempt to|attempts? to|asks? (?:you|the \w+) to|tr(?:y|ies|ying) to|tells? (?:you|the \w+) to|claims? (?:that|to)|(?:that|which) (?:says?|asks?|tells?|orders?))\b[^.;!?:]{0,70}$`)
	reported   = re2.MustCompile(`(?i)\b(attackers?|adversar(?:y|ies)|malware|phishing (?:mails?|e-?mails?|pages?)|scammers?|a malicious \w+|hostile \w+|an injected \w+|the payload|the victim|criminals?|injections?)\b[^.;!?]{0,120}$`)
	forbidden  = re2.MustCompile(`(?i)^[^.;!?]{0,50}\b(?:(?:is|are|be) (?:off limits|forbidden|not allowed|prohibited|banned|dangerous|a sign|signs|an attack|attacks|rejected|blocked|refused|never)|must never|is not permitted|-> |→)`)
	// offLimits is a thing that is forbidden; prohibits is an act that forbids.
	offLimits = re2.MustCompile(`(?i)^[^.;!?:]{0,50}\b(?:is|are) (?:off limits|forbidden|prohibited|banned)\b`)
	prohibits = re2.MustCompile(`(?i)\b(?:not|never|no|nothing|n't|without|refrain|avoid|refuse)\b|n't\b`)
	turnBack  = re2.MustCompile(`(?i)(,|\band)\s*(just|simply|but|instead|go ahead|then|always|directly|please)\b`)
)

// toBeRun introduces what the reader is to run now, which is no longer an example.
var toBeRun = re2.MustCompile(`(?i)\b(run|execute|paste|enter|type|copy)\W+(?:\w+\W+){0,2}?(this|it|these|that|the following|below|the (?:command|line|script|block|code|set-?up)s?)\b`)

// discount says how much less likely a match in this passage is meant as an
// instruction: 1 is no discount. It looks only at what surrounds the match, and one
// word alone ("for example") never clears a match: the text must quote, negate or
// report it.
func (p *passage) discount(start, end int) float64 {
	sentence := p.sentenceBefore(start)
	taught := p.taught && (p.context == ctxQuote || p.context == ctxTable || p.context == ctxCode && !toBeRun.MatchString(tail(p.intro, 120)))
	quoted := p.context == ctxQuote || p.context == ctxTable || (opensQuote(sentence) || p.context == ctxProse && opensQuote(tail(p.text[:start], maxQuotation))) && closesQuote(p.text[end:])
	about := discussion.MatchString(sentence) || discussion.MatchString(p.heading) || discussion.MatchString(tail(p.intro, 200))
	switch {
	case p.context == ctxComment || p.encoding != "":
		return 1
	case taught, quoted && p.taught:
		return 0.3
	case p.context == ctxCode && about:
		return 0.4
	case forbidden.MatchString(p.text[end:]), offLimits.MatchString(p.text[start:]) && !prohibits.MatchString(p.text[start:end]):
		return 0.45
	case regexpText.MatchString(p.text[start:end]):
		return 0.4
	case reported.MatchString(sentence), quoted && about:
		return 0.3
	case negation.MatchString(sentence) && !turnBack.MatchString(negation.FindString(sentence)):
		return 0.4
	case quoted && p.context != ctxQuote && discussion.MatchString(p.text):
		return 0.4
	case about && p.context == ctxHeading:
		return 0.4
	case about:
		return 0.7
	case quoted:
		return 0.75
	}
	return 1
}

// opensQuote reports text that ends within a quotation. Quotation marks are counted,
// since one that closes an earlier piece of code opens nothing.
func opensQuote(before string) bool {
	if strings.HasSuffix(before, "'") || strings.HasSuffix(before, "‘") {
		return true
	}
	return strings.Count(before, "`")%2 == 1 || strings.Count(before, `"`)%2 == 1 ||
		strings.LastIndexAny(before, "“„«") > strings.LastIndexAny(before, "”»")
}

// maxQuotation is how long before a match a quotation may have begun.
const maxQuotation = 400

func closesQuote(after string) bool {
	return strings.ContainsAny(after[:min(len(after), 200)], "\"'`”’»")
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// sentenceBefore is the text of the sentence up to offset.
func (p *passage) sentenceBefore(offset int) string {
	before := tail(p.text[:offset], 240)
	for _, end := range []string{". ", "! ", "? "} {
		if i := strings.LastIndex(before, end); i >= 0 {
			// "e.g. " does not end a sentence.
			if end == ". " && i >= 2 && before[i-2] == '.' {
				continue
			}
			before = before[i+len(end):]
		}
	}
	return before
}
