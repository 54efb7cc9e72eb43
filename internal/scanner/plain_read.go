package scanner

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// plainMeaning is what a statement's expression amounts to.
type plainMeaning struct {
	effect plainEffect
	data   value   // everything that flows in
	text   []byte  // of the data while it is put together
	given  value   // of which from variables and strings, before this statement's own decoding
	header value   // of which authenticates a request
	parts  []value // strings and variables one by one, for paths and addresses
	conn   value   // a connection among the variables
	line   int
	run    int // where the words of a command begin
}

const maxPlainDepth = 3 // of calls within calls whose arguments are told apart

// read evaluates an expression without doing what it does.
func (r *plainReader) read(tokens []plainToken, depth int) plainMeaning {
	m := plainMeaning{run: -1}
	for i, t := range tokens {
		if i == 0 {
			m.line = t.line
		}
		if r.work--; r.work < 0 {
			break
		}
		switch t.kind {
		case 's', '`':
			m.apart(tokens, i)
			r.readString(&m, tokens, i)
		case 'w', 'f':
			m.apart(tokens, i)
			r.readWord(&m, tokens, i, depth)
		}
	}
	m.data.text = string(m.text)
	if m.effect&plJoin != 0 {
		m.data.text = joinedPath(m.parts)
		m.parts = []value{m.data}
	}
	m.given = m.data
	if m.effect&plRead != 0 && slices.ContainsFunc(m.parts, startsWithAddress) {
		m.effect |= plGet // functions that read files read addresses too
	}
	r.readNumbers(&m, tokens)
	if m.effect&plDecode != 0 {
		m.data = decodedPlain(m.data)
	}
	r.readSources(&m)
	return m
}

// apart keeps arguments from running together.
func (m *plainMeaning) apart(tokens []plainToken, i int) {
	if i == 0 || len(m.text) == 0 || m.text[len(m.text)-1] == ' ' || bytes.Contains(m.text, []byte("%s")) {
		return
	}
	if before := tokens[i-1]; before.is(",") || before.is("=>") || before.is("=") || before.is(":") {
		m.text = append(m.text, ' ')
	}
}

func (r *plainReader) readString(m *plainMeaning, tokens []plainToken, i int) {
	t := tokens[i]
	v := r.inlined(t)
	if t.kind == '`' {
		m.effect |= plRun
		m.run = i
	}
	if authentication(t.text) && len(tokens) < 12 {
		m.header.callee = plainHeader
	}
	m.add(v)
}

func authentication(text string) bool {
	return len(text) < 80 && (strings.HasPrefix(text, "Bearer ") || strings.HasPrefix(text, "Basic ") || strings.Contains(text, "Authorization") || strings.EqualFold(text, "x-api-key"))
}

// maxPlainText bounds what is kept of a statement's text, so that values which go
// into each other do not grow.
const maxPlainText = 2 << 10

// add joins a part to the data; a text after one that has a place for it fills it.
func (m *plainMeaning) add(v value) {
	m.parts = append(m.parts, v)
	m.data.taint |= v.taint
	m.data.names = appendNames(m.data.names, v.names)
	if len(m.text) > maxPlainText {
		return
	}
	text := v.text[:min(len(v.text), maxPlainText)]
	if at := bytes.Index(m.text, []byte("%s")); at >= 0 && text != "" {
		m.text = append(append(slices.Clip(m.text[:at]), text...), m.text[at+2:]...)
		return
	}
	if text == "" && v.taint != 0 {
		text = unknownText
	}
	m.text = append(m.text, text...)
}

// readWord is a variable, a function of the program, or a name of the library.
func (r *plainReader) readWord(m *plainMeaning, tokens []plainToken, i, depth int) {
	t := tokens[i]
	base := plainBase(t.text)
	if t.kind == 'w' && base != "" && !keyOf(tokens, i) {
		if v, ok := r.lookup(base); ok {
			r.readVariable(m, v)
			if v.callee != "" {
				return
			}
		}
		if f := r.functions[strings.ToLower(lastName(t.text))]; f != nil {
			m.data.taint |= f.result.taint
			m.data.names = appendNames(m.data.names, f.result.names)
			if f.result.text != "" {
				m.add(value{text: f.result.text})
			}
			r.callArguments(f, tokens[i+1:], depth)
		}
	}
	effect := r.effectOf(t, tokens, i)
	if effect == 0 {
		return
	}
	if effect&plVar != 0 {
		r.readEnvironment(m, tokens, i)
	}
	if effect&plHome != 0 {
		m.add(constant("~"))
	}
	if effect&plRun != 0 && m.run < 0 {
		m.run = i + 1
	}
	m.effect |= effect
}

func (r *plainReader) readVariable(m *plainMeaning, v value) {
	switch v.callee {
	case plainConnection:
		m.conn = v
		return
	case plainHeader:
		m.header = join(m.header, v)
		m.header.callee = plainHeader
		return
	}
	m.add(v)
}

// keyOf reports a word that names a field or a parameter instead of a variable.
func keyOf(tokens []plainToken, i int) bool {
	if i+1 < len(tokens) && (tokens[i+1].is("=>") || tokens[i+1].is(":") && i > 0 && tokens[i-1].kind == 'o') {
		return true
	}
	return i > 0 && i+1 < len(tokens) && tokens[i+1].is("=") && (tokens[i-1].is(",") || tokens[i-1].is("(") || tokens[i-1].is("{"))
}

// effectOf is what a name stands for in this language.
func (r *plainReader) effectOf(t plainToken, tokens []plainToken, i int) plainEffect {
	name := strings.ToLower(t.text)
	if t.kind == 'f' {
		if name == "bxor" {
			return plDecode
		}
		return 0
	}
	if name == "env" || name == "_env" {
		return r.environmentEffect(t, tokens, i)
	}
	if strings.HasPrefix(name, "env.") && r.extension == ".ps1" || strings.HasPrefix(name, "vim.env.") {
		return plVar | plainEffectOf(name)&plHost
	}
	if r.otherwise(name) {
		return 0
	}
	effect := plainEffectOf(name)
	if last := name[max(0, strings.LastIndexByte(name, '.')):]; effect != 0 && plainNames[last] == effect && r.otherwise(last) {
		return 0
	}
	return effect
}

// otherwise reports an ambiguous name that is an ordinary word in this language.
func (r *plainReader) otherwise(name string) bool {
	languages, ok := ambiguousNames[name]
	return ok && !languages[r.extension]
}

// environmentEffect: ENV is Ruby's, Perl's and PHP's environment, one variable of it
// when a key follows.
func (r *plainReader) environmentEffect(t plainToken, tokens []plainToken, i int) plainEffect {
	keyed := i+1 < len(tokens) && (tokens[i+1].is("[") || tokens[i+1].is("{"))
	switch {
	case r.extension == ".ps1" && i+1 < len(tokens) && tokens[i+1].is(":"):
		return plEnv
	case t.text != "ENV" && t.text != "_ENV" || r.extension == ".lua":
		return 0
	case keyed:
		return plVar
	}
	return plEnv
}

func (r *plainReader) readEnvironment(m *plainMeaning, tokens []plainToken, i int) {
	name := lastName(tokens[i].text)
	word := strings.ToLower(tokens[i].text)
	if !strings.HasPrefix(word, "env.") && !strings.HasPrefix(word, "vim.env.") || word == "env.fetch" || word == "env.var" {
		name = ""
		for _, t := range tokens[i+1 : min(len(tokens), i+4)] {
			if t.kind == 's' || t.kind == 'w' {
				name = t.text
				break
			}
		}
		if name == "" { // getenv() gives all of them
			m.data.taint |= fromAllEnv
			m.data.names = appendNames(m.data.names, []string{"environment"})
			return
		}
	}
	if !shellVariable(name) {
		return
	}
	m.add(r.variable(tokens[i].line, name))
}

func shellVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 0x80 || !isWordStart(c) && (c < '0' || c > '9') && c != '(' && c != ')' {
			return false
		}
	}
	return name != "" && len(name) < 60
}

// callArguments tells a function what it is called with.
func (r *plainReader) callArguments(f *plainFunction, tokens []plainToken, depth int) {
	if depth >= maxPlainDepth || len(tokens) == 0 || r.work < 0 {
		return
	}
	r.work -= len(tokens) / 4 // splitting is cheaper than reading
	for i, argument := range arguments(tokens) {
		if i >= 16 || r.work < 0 {
			break
		}
		v := r.read(argument, depth+1).data
		if i == len(f.given) {
			f.given = append(f.given, value{})
		}
		given := merge(f.given[i], value{taint: v.taint, names: v.names, text: v.text})
		f.given[i] = given
	}
}

// arguments splits what stands in the first brackets at its commas.
func arguments(tokens []plainToken) [][]plainToken {
	var out [][]plainToken
	depth, from := 0, 0
	if !tokens[0].is("(") {
		depth, from = 1, 0
	}
	for i, t := range tokens {
		switch {
		case t.kind != 'o':
		case t.text == "(" || t.text == "[" || t.text == "{":
			if depth++; depth == 1 {
				from = i + 1
			}
		case t.text == ")" || t.text == "]" || t.text == "}":
			if depth--; depth == 0 {
				return append(out, tokens[from:i])
			}
		case t.text == "," && depth == 1:
			out = append(out, tokens[from:i])
			from = i + 1
		}
	}
	return append(out, tokens[from:])
}

// readNumbers puts an address together that is written as four numbers.
func (r *plainReader) readNumbers(m *plainMeaning, tokens []plainToken) {
	var numbers []string
	for i, t := range tokens {
		if t.kind != 'n' {
			continue
		}
		if n, err := strconv.ParseUint(t.text, 0, 16); err == nil && n < 256 && (i == 0 || tokens[i-1].kind == 'o') {
			numbers = append(numbers, strconv.FormatUint(n, 10))
		}
	}
	if len(numbers) != 4 || strings.Count(m.data.text, ".") != 1 || strings.TrimSpace(m.data.text) != "." {
		return
	}
	m.data = value{text: strings.Join(numbers, "."), taint: m.data.taint | fromDecoding}
	m.given = m.data
	m.parts = []value{m.data}
}

// readSources adds the origins that this statement itself brings in.
func (r *plainReader) readSources(m *plainMeaning) {
	for _, source := range []struct {
		effect plainEffect
		taint  taint
		name   string
	}{{plEnv, fromAllEnv, "environment"}, {plHost, fromHost, "host"}, {plCapture, fromCapture, "clipboard or screen"}, {plInput, fromInput, ""}} {
		if m.effect&source.effect != 0 {
			m.data.taint |= source.taint
			if source.name != "" {
				m.data.names = appendNames(m.data.names, []string{source.name})
			}
		}
	}
	if m.effect&plWalk != 0 {
		found := walkOf(value{text: plainPath(m.data.text)})
		m.data.taint |= found.taint
		m.data.names = appendNames(m.data.names, found.names)
	}
	opensToRead := m.effect&plOpen != 0 && !m.opensToWrite()
	if m.effect&plRead == 0 && !opensToRead || m.effect&(plGet|plSend) != 0 && hostOf(m.data.text) != "" && m.effect&plOpen == 0 {
		return
	}
	m.data.taint |= fromFile
	for _, part := range m.parts {
		if path := plainPath(part.text); pathLike(path) {
			content := r.reads(m.line, value{text: path})
			m.data.taint |= content.taint
			m.data.names = appendNames(m.data.names, content.names)
		}
	}
}
