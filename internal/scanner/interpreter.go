package scanner

import (
	"strings"
)

// function is a function the program defines.
type function struct {
	name   string
	params []string
	body   *node
	result value
	active bool
}

// interpreter follows values through a Python or JavaScript program without running
// it. It goes over the program twice, so that what a function returns is known to
// callers above it; only the second pass reports.
type interpreter struct {
	*program
	lang      programLanguage
	scope     map[string]value
	scopes    []map[string]value
	functions map[string]*function
	fixedLine int
	steps     int
	calls     int
}

// programLanguage is what differs between the languages.
type programLanguage struct {
	name     string
	grammar  func() *language
	run      func(*interpreter, *node)
	evaluate func(*interpreter, *node) value
	library  func(*interpreter, call) (value, bool)
}

// call is one call of a named function.
type call struct {
	name     string // dotted
	receiver value
	args     []value
	named    map[string]value
	line     int
	node     *node
}

const maxInterpreterSteps = 3_000_000

// largePrograms lets one large program at a time into memory, however many reviews a
// worker runs. A program within a program is never large (maxValueText).
var largePrograms = make(chan struct{}, 1)

const largeProgramBytes = 128 << 10

// analyzeProgram reads a program; it reports the share that did not parse.
func (p *program) analyzeProgram(source string, lang programLanguage, fixedLine int) (float64, error) {
	if len(source) > largeProgramBytes {
		select {
		case largePrograms <- struct{}{}:
			defer func() { <-largePrograms }()
		case <-p.v.ctx.Done():
			return 0, p.v.ctx.Err()
		}
	}
	root, broken, err := lang.grammar().parse(p.v.ctx, source)
	if err != nil {
		return 0, err
	}
	in := &interpreter{program: p, lang: lang, scope: map[string]value{}, functions: map[string]*function{}, fixedLine: fixedLine}
	in.scopes = []map[string]value{in.scope}
	quiet := p.quiet
	p.quiet = true
	lang.run(in, root)
	p.quiet, in.steps = quiet, 0
	lang.run(in, root)
	return broken, nil
}

// nestedProgram reads source text that another program runs.
func (p *program) nestedProgram(line int, source string, lang func() programLanguage) {
	if p.depth >= 3 || strings.TrimSpace(source) == "" {
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	// Text that doesn't parse is evaluated as far as it goes.
	_, _ = p.analyzeProgram(strings.ReplaceAll(source, unknownText, "_"), lang(), line)
}

func (in *interpreter) line(n *node) int {
	if in.fixedLine > 0 {
		return in.fixedLine
	}
	return n.line
}

func (in *interpreter) tick() bool {
	in.steps++
	return in.steps < maxInterpreterSteps && (in.steps%4096 != 0 || in.v.ctx.Err() == nil)
}

func (in *interpreter) lookup(name string) (value, bool) {
	for i := len(in.scopes) - 1; i >= 0; i-- {
		if v, ok := in.scopes[i][name]; ok {
			return v, true
		}
	}
	return value{}, false
}

func (in *interpreter) set(name string, v value) {
	if old, ok := in.scope[name]; ok && name != "" {
		old.list, old.fields = nil, nil
		kept := v
		v = merge(old, v)
		v.list, v.fields = kept.list, kept.fields
		if kept.callee != "" {
			v.callee = kept.callee
		}
		if old.taint == 0 && kept.text == "" {
			v.text = ""
		}
	}
	in.scope[name] = v
}

// change is set for a variable where it was defined, which may be around the function
// that changes what is in it.
func (in *interpreter) change(name string, v value) {
	for i := len(in.scopes) - 1; i >= 0; i-- {
		if _, ok := in.scopes[i][name]; ok {
			inner := in.scope
			in.scope = in.scopes[i]
			in.set(name, v)
			in.scope = inner
			return
		}
	}
	in.set(name, v)
}

func (in *interpreter) push() {
	in.scope = map[string]value{}
	in.scopes = append(in.scopes, in.scope)
}

func (in *interpreter) pop() {
	in.scopes = in.scopes[:len(in.scopes)-1]
	in.scope = in.scopes[len(in.scopes)-1]
}

// invoke calls a function of the program itself with these arguments.
func (in *interpreter) invoke(f *function, c call) value {
	if f == nil || f.body == nil || f.active || in.calls > 12 || !in.tick() {
		if f != nil {
			return f.result
		}
		return value{}
	}
	f.active = true
	in.calls++
	in.push()
	params := f.params
	if len(params) > 0 && (params[0] == "self" || params[0] == "cls") {
		params = params[1:]
	}
	for i, name := range params {
		if i < len(c.args) {
			in.scope[name] = c.args[i]
		}
		if v, ok := c.named[name]; ok {
			in.scope[name] = v
		}
	}
	in.scope["\x00return"] = value{}
	var result value
	switch f.body.kind {
	case "statement_block", "block", "class_body":
		in.lang.run(in, f.body)
		result = in.scope["\x00return"]
	default: // an arrow function or lambda whose body is its result
		result = in.lang.evaluate(in, f.body)
	}
	in.pop()
	in.calls--
	f.active = false
	f.result = merge(f.result, result)
	return result
}

// define remembers a function and looks at its body once without known arguments,
// so that code nobody calls is read too.
func (in *interpreter) define(name string, params []string, body *node) *function {
	f := &function{name: name, params: params, body: body}
	if name != "" {
		in.functions[name] = f
	}
	if in.calls < 8 {
		f.result = in.invoke(f, call{args: unknownArguments(params)})
	}
	return f
}

// unknownArguments stand for what callers elsewhere pass.
func unknownArguments(params []string) []value {
	out := make([]value, 0, len(params))
	for _, name := range params {
		if name != "self" && name != "cls" {
			out = append(out, value{taint: fromCaller})
		}
	}
	return out
}

// apply is any call: the language's library first, then the program's own functions,
// then the assumption that a result comes from its arguments.
func (in *interpreter) apply(callee value, c call) value {
	if !in.tick() {
		return value{}
	}
	c.name = callee.callee
	if callee.taint&fromDecoding != 0 && c.name != "" && powerfulCall(c.name) {
		in.report(bHiddenName, c.line, 0.8, c.name)
	}
	if c.name != "" {
		if out, ok := in.lang.library(in, c); ok {
			return out
		}
	}
	if callee.fn != nil {
		return in.invoke(callee.fn, c)
	}
	if f, ok := in.functions[lastName(c.name)]; ok {
		return in.invoke(f, c)
	}
	returned := in.callbacks(c)
	out := value{taint: c.receiver.taint | returned.taint, names: appendNames(c.receiver.names, returned.names), callee: c.name}
	for _, a := range c.args {
		out.taint |= a.taint
		out.names = appendNames(out.names, a.names)
	}
	for _, a := range c.named {
		out.taint |= a.taint
		out.names = appendNames(out.names, a.names)
	}
	return out
}

// callbacks hands the receiver's origin to functions passed as arguments, as
// promises, array methods and event handlers do.
func (in *interpreter) callbacks(c call) value {
	var out value
	for _, a := range c.args {
		if a.fn == nil {
			continue
		}
		item := value{taint: c.receiver.taint, names: c.receiver.names}
		for _, other := range c.args {
			if other.fn == nil {
				item.taint |= other.taint
				item.names = appendNames(item.names, other.names)
			}
		}
		args := make([]value, len(a.fn.params))
		for i := range args {
			args[i] = item
		}
		out = join(out, in.invoke(a.fn, call{args: args, line: c.line}))
		// A search that keeps the files which hold credentials is a search for them.
		if last := lastName(c.name); (last == "filter" || last == "find") && item.taint&fromWalk != 0 && secretSearch.MatchString(a.fn.body.source()) {
			out.taint |= fromSecretFile
			out.names = appendNames(out.names, []string{"files that look like credentials"})
		}
	}
	return value{taint: out.taint, names: out.names}
}

func powerfulCall(name string) bool {
	switch lastName(name) {
	case "system", "popen", "exec", "eval", "execSync", "spawn", "spawnSync", "Function", "compile", "call", "run", "Popen", "check_output", "__import__", "constructor", "execFile", "execl", "execv":
		return true
	}
	return false
}

func lastName(dotted string) string { return dotted[strings.LastIndex(dotted, ".")+1:] }

// argument is the i-th positional argument, or the named one.
func (c call) argument(i int, names ...string) value {
	for _, n := range names {
		if v, ok := c.named[n]; ok {
			return v
		}
	}
	if i >= 0 && i < len(c.args) {
		return c.args[i]
	}
	return value{}
}

// all joins every argument.
func (c call) all() value {
	out := join(c.args...)
	for _, v := range c.named {
		out.taint |= v.taint
		out.names = appendNames(out.names, v.names)
	}
	return out
}

// loopItem is what a loop's variable stands for: any of the listed items.
func loopItem(items value) value {
	if len(items.list) > 0 {
		out := join(interleave(items.list, "\n")...)
		out.taint |= items.taint
		return out
	}
	items.list = nil
	return items
}

// commandLine is a list's elements joined as a shell would see them.
func commandLine(v value) value {
	if len(v.list) == 0 {
		return v
	}
	return join(spaced(v.list)...)
}
