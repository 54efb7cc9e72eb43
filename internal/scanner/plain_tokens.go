package scanner

import (
	"strings"
)

// plainLanguage is what a reader needs to know to cut a program into statements in a
// language that has no grammar here.
type plainLanguage struct {
	comments []string // what begins a comment that ends with the line
	dashes   bool     // a dash joins words (Get-Content)
	commands bool     // backticks run a command
	inlined  bool     // variables stand in double quotes
}

var (
	hashComment  = []string{"#"}
	slashComment = []string{"//"}
	plainScript  = plainLanguage{comments: hashComment, commands: true, inlined: true}
	plainCompact = plainLanguage{comments: slashComment, inlined: true}
)

// plainLanguages lists by extension the languages that plainReader follows. SQL is
// not among them: what it does to the outside is a matter of single statements.
var plainLanguages = map[string]plainLanguage{
	".rb": plainScript, ".rake": plainScript, ".pl": plainScript, ".pm": plainScript, ".cr": plainScript,
	".php": {comments: []string{"#", "//"}, commands: true, inlined: true}, ".phtml": {comments: []string{"#", "//"}, commands: true, inlined: true},
	".r": {comments: hashComment}, ".jl": {comments: hashComment, inlined: true}, ".ex": {comments: hashComment, inlined: true}, ".exs": {comments: hashComment, inlined: true}, ".nim": {comments: hashComment}, ".tcl": {comments: hashComment, inlined: true},
	".ps1": {comments: hashComment, dashes: true, inlined: true}, ".psm1": {comments: hashComment, dashes: true, inlined: true},
	".lua": {comments: []string{"--"}}, ".applescript": {comments: []string{"--", "#"}}, ".vbs": {comments: []string{"'"}}, ".vba": {comments: []string{"'"}}, ".bas": {comments: []string{"'"}},
	".go": plainCompact, ".rs": plainCompact, ".java": plainCompact, ".kt": plainCompact, ".swift": plainCompact, ".c": plainCompact, ".cpp": plainCompact, ".cs": plainCompact,
	".dart": plainCompact, ".scala": plainCompact, ".groovy": plainCompact, ".m": plainCompact,
}

// plainDialects are the other extensions of a language.
var plainDialects = map[string]string{".rake": ".rb", ".pm": ".pl", ".phtml": ".php", ".psm1": ".ps1", ".exs": ".ex"}

// plainToken is a word, a string, a number, a flag or an operator.
type plainToken struct {
	kind  byte // 'w', 's', '`' for a command in backticks, 'n', 'f', 'o'
	text  string
	line  int
	plain bool // a string without variables in it
}

func (t plainToken) is(op string) bool { return t.kind == 'o' && t.text == op }

// The bounds of a statement and of a string that spans lines.
const (
	maxPlainTokens  = 600
	maxPlainString  = 16 << 10
	maxPlainNesting = 64
)

// plainScanner cuts a program into statements, one at a time, so that memory does not
// grow with the program.
type plainScanner struct {
	source string
	lang   plainLanguage
	at     int
	line   int
	opened []byte // brackets open since the statement began
	// unclosed is up to where nothing closes a string, by the quote it begins with.
	unclosed map[byte]int
	tokens   []plainToken
}

// next is the next statement, and whether a block follows it. No token ends the program.
func (s *plainScanner) next() (tokens []plainToken, block bool) {
	s.tokens, s.opened = s.tokens[:0], s.opened[:0]
	for s.at < len(s.source) && len(s.tokens) < maxPlainTokens {
		if done, opens := s.step(); done && (len(s.tokens) > 0 || opens) {
			return s.tokens, opens
		}
	}
	return s.tokens, false
}

// step reads one token; it reports the end of a statement and that a block begins.
func (s *plainScanner) step() (done, block bool) {
	c := s.source[s.at]
	switch {
	case c == '\n':
		s.at++
		s.line++
		return len(s.opened) == 0 && !s.continues(), false
	case c == ' ' || c == '\t' || c == '\r' || c == '\\':
		s.at++
	case c == ';':
		s.at++
		return !s.within('('), false
	case s.comment():
	case c == '"' || c == '\'' || c == '`' && s.lang.commands:
		s.quoted(c)
	case isWordStart(c):
		s.word()
	case c >= '0' && c <= '9':
		s.run('n', func(c byte) bool { return isWordStart(c) || c >= '0' && c <= '9' || c == '.' })
	case c == '{' || c == '}':
		return s.brace(c)
	default:
		s.operator(c)
	}
	return false, false
}

func isWordStart(c byte) bool { return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' }

func (s *plainScanner) add(kind byte, text string) {
	s.tokens = append(s.tokens, plainToken{kind: kind, text: text, line: s.line, plain: true})
}

func (s *plainScanner) run(kind byte, belongs func(byte) bool) {
	end := s.at
	for end < len(s.source) && belongs(s.source[end]) {
		end++
	}
	s.add(kind, s.source[s.at:end])
	s.at = end
}

func (s *plainScanner) comment() bool {
	rest := s.source[s.at:]
	for _, mark := range s.lang.comments {
		if strings.HasPrefix(rest, mark) && (s.at == 0 || mark != "#" || strings.IndexByte(" \t\n\r;{}", s.source[s.at-1]) >= 0) {
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				s.at += end
			} else {
				s.at = len(s.source)
			}
			return true
		}
	}
	return false
}

// quoted reads a string. A quote that nothing closes nearby is an apostrophe.
func (s *plainScanner) quoted(quote byte) {
	rest := s.source[s.at+1 : min(len(s.source), s.at+1+maxPlainString)]
	end, looked := -1, 0
	for i := 0; i < len(rest) && s.at >= s.unclosed[quote]; i++ {
		if rest[i] == quote {
			end = i
			break
		}
		if rest[i] == '\n' && quote == '\'' {
			break
		}
		if rest[i] == '\\' && !s.lang.dashes {
			i++
		}
		looked = i
	}
	if end < 0 {
		s.unclosed[quote] = max(s.unclosed[quote], s.at+1+looked)
		s.at++
		return
	}
	kind := byte('s')
	if quote == '`' {
		kind = '`'
	}
	s.add(kind, rest[:end])
	s.tokens[len(s.tokens)-1].plain = quote == '\'' || !s.lang.inlined
	s.line += strings.Count(rest[:end], "\n")
	s.at += end + 2
}

// word reads a name with its members, in whatever way the language joins them; the
// joints become dots.
func (s *plainScanner) word() {
	start, member := s.at, s.member()
	var sb strings.Builder
	for s.at < len(s.source) {
		c := s.source[s.at]
		if isWordStart(c) || c >= '0' && c <= '9' {
			s.at++
			continue
		}
		width := s.joint()
		if width == 0 {
			break
		}
		if s.source[s.at] == '-' && width == 1 {
			s.at++ // a dash stays part of the word
			continue
		}
		sb.WriteString(s.source[start:s.at] + ".")
		s.at += width
		start = s.at
		if sb.Len() > 200 {
			break
		}
	}
	text := s.source[start:s.at]
	if sb.Len() > 0 {
		text = sb.String() + text
	}
	if rest := s.source[s.at:]; (strings.HasPrefix(text, "http") || strings.HasPrefix(text, "ftp")) && strings.HasPrefix(rest, "://") {
		s.at = start
		s.run('s', func(c byte) bool { return c > ' ' && c != '"' && c != '\'' && c != ')' && c != ';' })
		return
	}
	if text == "qw" && s.quotedWords() {
		return
	}
	if member {
		text = "." + text
	}
	s.add('w', text)
}

// quotedWords is Perl's list of words.
func (s *plainScanner) quotedWords() bool {
	rest := s.source[s.at:min(len(s.source), s.at+maxPlainString)]
	if rest == "" {
		return false
	}
	at := strings.IndexByte("([{</", rest[0])
	if at < 0 || s.at < s.unclosed[rest[0]] {
		return false
	}
	end := strings.IndexByte(rest[1:], ")]}>/"[at])
	if end < 0 {
		s.unclosed[rest[0]] = s.at + len(rest)
		return false
	}
	s.add('s', rest[1:end+1])
	s.line += strings.Count(rest[:end+1], "\n")
	s.at += end + 2
	return true
}

// member reports a name that hangs on a closing bracket, as in f(x).name.
func (s *plainScanner) member() bool {
	before := strings.TrimRight(s.source[max(0, s.at-3):s.at], ".:>-")
	if before == "" || len(before) == min(3, s.at) {
		return false
	}
	return strings.IndexByte(")]}\"'", before[len(before)-1]) >= 0
}

// joint is the width of what joins a name and its member here: a dot, an arrow, one
// or two colons, or a dash in a command's name.
func (s *plainScanner) joint() int {
	for _, joint := range []string{"->", "::", "?.", ".", ":", "-"} {
		rest, ok := strings.CutPrefix(s.source[s.at:], joint)
		if !ok || rest == "" || !isWordStart(rest[0]) || joint == "-" && !s.lang.dashes {
			continue
		}
		return len(joint)
	}
	return 0
}

func (s *plainScanner) operator(c byte) {
	previous := byte(' ')
	if s.at > 0 {
		previous = s.source[s.at-1]
	}
	rest := s.source[s.at+1:]
	switch {
	case c == '(' || c == '[':
		if len(s.opened) < maxPlainNesting {
			s.opened = append(s.opened, c)
		}
	case c == ')' || c == ']':
		s.close()
	case c == '-' && rest != "" && isWordStart(rest[0]) && (previous == ' ' || previous == '\t'):
		s.at++
		s.run('f', func(c byte) bool { return isWordStart(c) || c == '-' })
		return
	case strings.IndexByte("$@%&", c) >= 0 && rest != "" && (isWordStart(rest[0]) || rest[0] == '{' || rest[0] == '$'):
		s.at++ // a sigil
		return
	}
	for _, op := range []string{"<-", ":=", "=>", "==", "!=", "=~", "+=", ".=", "||=", "//=", "<<", "<=", ">=", ">>"} {
		if strings.HasPrefix(s.source[s.at:], op) {
			s.add('o', op)
			s.at += len(op)
			return
		}
	}
	s.add('o', s.source[s.at:s.at+1])
	s.at++
}

// brace tells a block, which separates statements, from a list, a table or a key.
func (s *plainScanner) brace(c byte) (done, block bool) {
	s.at++
	if c == '}' {
		if !s.within('{') {
			return true, false
		}
		s.close()
		s.add('o', "}")
		return false, false
	}
	if !s.literalBrace() {
		return true, true
	}
	if len(s.opened) < maxPlainNesting {
		s.opened = append(s.opened, '{')
	}
	s.add('o', "{")
	return false, false
}

func (s *plainScanner) literalBrace() bool {
	if s.at >= 2 && strings.IndexByte("$@%", s.source[s.at-2]) >= 0 {
		return true
	}
	if len(s.tokens) == 0 {
		return false
	}
	last := s.tokens[len(s.tokens)-1]
	if last.kind == 'w' && printWords[last.text] && strings.HasPrefix(s.source[s.at:], "$") {
		return true
	}
	if last.kind == 'w' {
		return isWordStart(s.source[s.at-2]) && !blockWords[strings.ToLower(last.text)]
	}
	return last.kind == 'o' && beforeLiteral[last.text]
}

// beforeLiteral are the operators after which a brace holds data; an arrow's two halves
// are operators of their own.
var beforeLiteral = wordSet("( , = [ => : := <- ? { | << < > -")

// continuing are the operators after which a statement goes on in the next line.
var continuing = wordSet("| , + . = : := => << .= += <- < > - ~ &")

// printWords take the stream they write to in braces.
var printWords = wordSet("print printf say")

var blockWords = wordSet("else do try begin finally process end catch ensure default")

func (s *plainScanner) within(c byte) bool {
	return len(s.opened) > 0 && s.opened[len(s.opened)-1] == c
}

func (s *plainScanner) close() {
	if len(s.opened) > 0 {
		s.opened = s.opened[:len(s.opened)-1]
	}
}

// continues reports that the statement goes on in the next line.
func (s *plainScanner) continues() bool {
	if len(s.tokens) == 0 {
		return true
	}
	if last := s.tokens[len(s.tokens)-1]; last.kind == 'o' && continuing[last.text] {
		return true
	}
	if s.lang.dashes && s.at >= 2 && strings.HasSuffix(strings.TrimRight(s.source[max(0, s.at-4):s.at], "\r\n"), "`") {
		return true
	}
	rest := strings.TrimLeft(s.source[s.at:min(len(s.source), s.at+80)], " \t")
	for _, mark := range []string{".", "|>", "->", "?.", "| "} {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}
