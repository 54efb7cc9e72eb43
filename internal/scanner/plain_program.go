package scanner

import (
	"regexp"
	"strings"
)

// plainReader follows values through a program in a language that has no parser here.
// It knows statements, assignments, calls and what well-known names stand for, and
// nothing of scopes and types: a name is one variable from where it is set on. It goes
// over the program twice, so that what functions are called with and return is known
// above the call; only the second pass reports.
type plainReader struct {
	*program
	extension string // of the language, see plainDialects
	vars      map[string]value
	before    map[string]value // what the first pass left in the variables
	functions map[string]*plainFunction
	current   *plainFunction
	allowed   *Capabilities // as declared
	work      int           // tokens that may still be read for the statement
}

type plainFunction struct {
	params []string
	given  []value
	result value
	indent int
}

// The callees of values that are no plain data.
const (
	plainConnection = "\x00connection" // a connection or request; its text is the address
	plainHeader     = "\x00header"     // what authenticates a request
)

const (
	maxPlainNames = 5_000 // variables and functions that are kept
	// A statement's arguments are read for the statement and for each call around them;
	// these bound how often.
	minPlainWork = 400
	plainRereads = 6
)

func (v *visit) plainProgram(text, extension string) {
	if extension == ".bat" || extension == ".cmd" {
		v.batch(text)
		return
	}
	lang, ok := plainLanguages[extension]
	if !ok {
		return
	}
	p := v.newProgram(text)
	p.declared = v.declaredDomains()
	p.stated = statedStartUp(v.bundle)
	if name, ok := plainDialects[extension]; ok {
		extension = name
	}
	r := &plainReader{program: p, extension: extension, vars: map[string]value{}, functions: map[string]*plainFunction{}}
	r.allowed = v.allowed()
	p.quiet = true
	r.pass(text, lang)
	r.before, r.vars = r.vars, map[string]value{}
	p.quiet = false
	r.pass(text, lang)
}

func (r *plainReader) pass(text string, lang plainLanguage) {
	s := &plainScanner{source: text, lang: lang, line: 1, unclosed: map[byte]int{}}
	r.current = nil
	for n := 0; s.at < len(s.source); n++ {
		if n%64 == 0 && r.v.ctx.Err() != nil {
			return
		}
		tokens, block := s.next()
		if len(tokens) > 0 {
			r.work = minPlainWork + plainRereads*len(tokens)
			r.statement(tokens, block)
		}
	}
}

// intoArgument: what a call matches goes into a variable that it is handed.
func (r *plainReader) intoArgument(tokens []plainToken, data value) {
	for i, t := range tokens {
		if t.kind != 'w' || !matchCalls[strings.ToLower(t.text)] || i+1 >= len(tokens) {
			continue
		}
		if list := arguments(tokens[i+1:]); len(list) >= 3 && len(list[2]) > 0 && list[2][0].kind == 'w' {
			r.set(plainBase(list[2][0].text), value{taint: data.taint, names: data.names})
		}
	}
}

var matchCalls = wordSet("preg_match preg_match_all exec mb_ereg sscanf")

// statement does what one statement does.
func (r *plainReader) statement(tokens []plainToken, block bool) {
	r.leave(tokens[0].line)
	if r.define(tokens) {
		return
	}
	targets, rest := assignment(tokens)
	if r.several(targets, rest, tokens) {
		return
	}
	m := r.read(rest, 0)
	r.intoArgument(rest, m.data)
	r.fill(targets, &m)
	out := r.effects(&m, rest)
	if block {
		r.set("_", value{taint: out.taint, names: out.names})
	}
	r.bind(targets, out, tokens)
	if f := r.current; f != nil {
		// Some of these languages return what the last statement gives, without a word.
		if len(targets) == 0 {
			f.result = merge(f.result, value{taint: out.taint, names: out.names, text: out.text})
		}
	}
}

// several is "a, b = x, y", one assignment after another.
func (r *plainReader) several(targets, rest, tokens []plainToken) bool {
	if len(targets) < 2 || len(rest) == 0 || tokens[0].is("(") {
		return false
	}
	parts := arguments(append([]plainToken{{kind: 'o', text: "("}}, rest...))
	if len(parts) != len(targets) {
		return false
	}
	for i, part := range parts {
		m := r.read(part, 0)
		r.bind(targets[i:i+1], r.effects(&m, part), nil)
	}
	return true
}

func (r *plainReader) lookup(name string) (value, bool) {
	if v, ok := r.vars[name]; ok {
		return v, true
	}
	v, ok := r.before[name]
	return v, ok
}

func (r *plainReader) set(name string, v value) {
	if _, known := r.vars[name]; known || len(r.vars) < maxPlainNames {
		v.list, v.fields, v.fn = nil, nil, nil
		v.text = v.text[:min(len(v.text), maxPlainText)]
		r.vars[name] = v
	}
}

// plainBase is the variable that a dotted name begins with.
func plainBase(word string) string {
	base, _, _ := strings.Cut(word, ".")
	return strings.ToLower(base)
}

var assignOps = wordSet("= := <- += .= ||= //= to")

// assignment splits a statement into the names it sets and the expression.
func assignment(tokens []plainToken) (targets []plainToken, rest []plainToken) {
	if names, over, ok := loopTargets(tokens); ok {
		return names, over
	}
	for i, t := range tokens[:min(len(tokens), 14)] {
		if t.kind == 's' && i > 0 && !tokens[i-1].is("[") && !tokens[i-1].is("{") {
			break
		}
		if (t.kind == 'o' || t.kind == 'w' && strings.EqualFold(tokens[0].text, "set")) && assignOps[t.text] && i > 0 {
			for _, name := range tokens[:i] {
				if name.kind == 'w' && !plainKeywords[strings.ToLower(name.text)] {
					targets = append(targets, name)
				}
			}
			return targets, tokens[i+1:]
		}
	}
	return nil, tokens
}

var plainKeywords = wordSet("my our local var let const val set auto mut static public private protected final string int bool char byte object if while unless until dim for foreach return global do and or not in of repeat with as")

// loopTargets understands "for x in y", "foreach (y as x)" and "for my x (y)".
func loopTargets(tokens []plainToken) (names, over []plainToken, ok bool) {
	first := strings.ToLower(tokens[0].text)
	if tokens[0].kind != 'w' || first != "for" && first != "foreach" && first != "repeat" {
		return nil, nil, false
	}
	for i, t := range tokens {
		word := strings.ToLower(t.text)
		switch {
		case t.kind == 'w' && (word == "in" || word == "range"):
			return wordsOf(tokens[1:i]), tokens[i+1:], true
		case t.kind == 'w' && word == "as":
			return wordsOf(tokens[i+1:]), tokens[1:i], true
		case t.is("(") && i > 1 && i < 4 && tokens[i-1].kind == 'w':
			return wordsOf(tokens[1:i]), tokens[i:], true
		}
	}
	return nil, nil, false
}

func wordsOf(tokens []plainToken) []plainToken {
	var out []plainToken
	for _, t := range tokens {
		if t.kind == 'w' && !plainKeywords[strings.ToLower(t.text)] {
			out = append(out, t)
		}
	}
	return out
}

// bind gives the names their value: the first the value itself, so that "data, err :="
// leaves err alone.
func (r *plainReader) bind(targets []plainToken, v value, tokens []plainToken) {
	appended := false
	for _, t := range tokens[:min(len(tokens), 14)] {
		appended = appended || t.kind == 'o' && (t.text == "+=" || t.text == ".=" || t.text == "<<" || t.text == "[" || t.text == "{")
	}
	for _, target := range targets {
		name := plainBase(target.text)
		if name == "err" || name == "_" || name == "" {
			continue
		}
		old, known := r.lookup(name)
		switch {
		case known && old.callee == plainConnection:
			continue // a member of it was set
		case known && (appended || strings.Contains(target.text, ".")):
			joined := join(old, v)
			joined.callee = old.callee
			r.set(name, joined)
		default:
			r.set(name, v)
		}
	}
}

var plainDefine = wordSet("function def sub func fn fun on filter proc method")

// define remembers a function and enters it.
func (r *plainReader) define(tokens []plainToken) bool {
	at := -1
	for i, t := range tokens[:min(len(tokens), 6)] {
		if t.kind == 'w' && plainDefine[strings.ToLower(t.text)] {
			at = i
			break
		}
	}
	if at < 0 || len(r.functions) >= maxPlainNames {
		return false
	}
	var name string
	switch {
	case at+1 < len(tokens) && tokens[at+1].kind == 'w':
		name = tokens[at+1].text
	case at >= 2 && tokens[at-2].kind == 'w' && tokens[at-1].kind == 'o' && assignOps[tokens[at-1].text]:
		name = tokens[at-2].text
	default:
		return false
	}
	key := strings.ToLower(lastName(name))
	f := r.functions[key]
	if f == nil {
		f = &plainFunction{}
		r.functions[key] = f
	}
	body := parameters(tokens[at+1:], f)
	f.indent = indentOf(r.lineText(tokens[0].line))
	r.current = f
	for i, param := range f.params {
		v := value{}
		if i < len(f.given) {
			v = f.given[i]
		}
		r.set(param, v)
	}
	if len(body) > 0 && len(body) < len(tokens) {
		r.statement(body, false)
	}
	return true
}

// parameters reads the names in the first brackets; what follows them is the body of
// a function in one line.
func parameters(tokens []plainToken, f *plainFunction) (body []plainToken) {
	f.params = f.params[:0]
	depth := 0
	for i, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				return tokens[i+1:]
			}
		case depth == 1 && t.kind == 'w' && len(f.params) < 16:
			// The name is the last word before a comma, a type or a default value.
			if previous := tokens[i-1]; previous.is("(") || previous.is(",") {
				f.params = append(f.params, plainBase(t.text))
			} else if previous.kind == 'w' && len(f.params) > 0 && typeWords[f.params[len(f.params)-1]] {
				f.params[len(f.params)-1] = plainBase(t.text)
			}
		}
	}
	return nil
}

var typeWords = wordSet("string array int bool mixed callable float object byte char list map final const var val")

func (r *plainReader) lineText(line int) string {
	if line < 1 || line > len(r.lines) {
		return ""
	}
	return r.lines[line-1]
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// leave ends the function when a line stands no deeper than its head.
func (r *plainReader) leave(line int) {
	if r.current != nil && indentOf(r.lineText(line)) <= r.current.indent {
		r.current = nil
	}
}

var (
	inlineVariable = regexp.MustCompile(`\$(ENV\{\w+)\}|\$\{?(?:env:)?([A-Za-z_]\w*)|#\{([^}]{1,80})\}|\{\$?([A-Za-z_]\w*)[^}]{0,40}\}|\\\(([A-Za-z_]\w*)`)
	inlineWord     = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// inlined is a string with the values of the variables in it.
func (r *plainReader) inlined(t plainToken) value {
	if t.plain || !strings.ContainsAny(t.text, "$#{(") {
		return constant(t.text)
	}
	var parts []value
	end := 0
	for _, m := range inlineVariable.FindAllStringSubmatchIndex(t.text[:min(len(t.text), maxValueText)], 64) {
		inner := ""
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				inner = t.text[m[g]:m[g+1]]
			}
		}
		parts = append(parts, constant(t.text[end:m[0]]))
		end = m[1]
		parts = append(parts, r.inlinedWords(inner, t, strings.HasPrefix(t.text[m[0]:], "$env:") || strings.HasPrefix(t.text[m[0]:], "${env:")))
	}
	return join(append(parts, constant(t.text[end:]))...)
}

func (r *plainReader) inlinedWords(inner string, t plainToken, environment bool) value {
	if environment {
		return r.variable(t.line, inner)
	}
	if strings.HasPrefix(inner, "ENV") {
		if words := inlineWord.FindAllString(inner, 4); len(words) > 1 {
			return r.variable(t.line, words[len(words)-1])
		}
	}
	var out value
	for _, word := range inlineWord.FindAllString(inner, 8) {
		if strings.EqualFold(word, "HOME") {
			out = join(out, constant("~"))
		} else if v, ok := r.lookup(strings.ToLower(word)); ok {
			out = join(out, value{text: v.text, taint: v.taint, names: v.names})
		} else if plainEffectOf(inner)&plHost != 0 {
			out.taint |= fromHost
		}
	}
	if out.text == "" {
		out.text = unknownText
	}
	return out
}
