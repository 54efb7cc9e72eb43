package scanner

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shell walks a script in order, keeping what variables, files and pipes carry.
type shell struct {
	*program
	vars      map[string]value
	functions map[string]*syntax.Stmt
	calling   int
	base      int // line of the script within the program, less one
	fixedLine int // every line is this one, for a command inside another program
	steps     int
}

// maxShellSteps bounds work on scripts whose functions call each other.
const maxShellSteps = 200_000

// analyzeShell reads a shell program; it reports false if parts did not parse.
func (p *program) analyzeShell(source string) bool {
	s := &shell{program: p, vars: map[string]value{}, functions: map[string]*syntax.Stmt{}}
	return s.script(source, 0)
}

// nestedShell reads a command line that another program starts.
func (p *program) nestedShell(line int, command value) value {
	s := &shell{program: p, vars: map[string]value{}, functions: map[string]*syntax.Stmt{}, fixedLine: line}
	p.depth++
	defer func() { p.depth-- }()
	file, err := parseShell(strings.ReplaceAll(command.text, unknownText, " __unknown__ "))
	if err != nil {
		return value{}
	}
	s.vars["__unknown__"] = value{taint: command.taint, names: command.names}
	return s.statements(file.Stmts, value{})
}

func parseShell(source string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(4)).Parse(strings.NewReader(source), "")
}

// script parses all of source, or, where that fails, the lines that parse alone: a
// document's example often holds a placeholder that is no valid shell.
func (s *shell) script(source string, base int) bool {
	s.base = base
	if file, err := parseShell(source); err == nil {
		s.statements(file.Stmts, value{})
		return true
	}
	for i, line := range strings.Split(source, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "$ "))
		if line == "" || len(line) > maxPassage {
			continue
		}
		s.base = base + i
		if file, err := parseShell(strings.NewReplacer("<", "'<'", ">", " > ").Replace(line)); err == nil {
			s.statements(file.Stmts, value{})
		}
	}
	return false
}

func (s *shell) line(n syntax.Node) int {
	if s.fixedLine > 0 {
		return s.fixedLine
	}
	return int(n.Pos().Line()) + s.base
}

func (s *shell) statements(list []*syntax.Stmt, stdin value) value {
	var out value
	for _, st := range list {
		out = join(out, s.statement(st, stdin))
	}
	return out
}

// statement runs one command and its redirections; the result is its output.
func (s *shell) statement(st *syntax.Stmt, stdin value) value {
	s.steps++
	if st == nil || s.steps > maxShellSteps {
		return value{}
	}
	line := s.line(st)
	for _, r := range st.Redirs {
		if r.Hdoc != nil {
			stdin = s.word(r.Hdoc)
			continue
		}
		target := s.word(r.Word)
		s.socket(line, st, target)
		switch r.Op {
		case syntax.RdrIn, syntax.WordHdoc:
			stdin = s.input(line, r.Op, target)
		}
	}
	out := s.command(st.Cmd, stdin, line)
	for _, r := range st.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
			target := s.word(r.Word)
			if !strings.HasPrefix(target.text, "/dev/") && target.text != "" {
				s.writes(line, target, out)
			}
			if strings.HasPrefix(target.text, "/dev/sd") || strings.HasPrefix(target.text, "/dev/nvme") {
				s.report(bWipe, line, 0.9, target.text)
			}
		}
	}
	return out
}

func (s *shell) input(line int, op syntax.RedirOperator, target value) value {
	if op == syntax.WordHdoc {
		return target
	}
	if strings.HasPrefix(target.text, "/dev/") {
		return value{}
	}
	return s.reads(line, target)
}

// socket recognises bash's own network device; with a shell on it, it is a reverse shell.
func (s *shell) socket(line int, st *syntax.Stmt, target value) {
	rest, ok := strings.CutPrefix(target.text, "/dev/tcp/")
	if !ok {
		rest, ok = strings.CutPrefix(target.text, "/dev/udp/")
	}
	if !ok {
		return
	}
	host, _, _ := strings.Cut(rest, "/")
	if !isLocal(host) {
		s.observe(CapNetwork, host, line, false)
	}
	if call, isCall := st.Cmd.(*syntax.CallExpr); isCall && len(call.Args) > 0 {
		if name := commandName(s.word(call.Args[0]).text); shellNames[name] || name == "exec" {
			s.report(bReverseShell, line, 0.93, host)
			return
		}
	}
	s.report(bReverseShell, line, 0.7, host)
}

var shellNames = wordSet("sh bash zsh dash ksh ash fish")

func (s *shell) command(cmd syntax.Command, stdin value, line int) value {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return s.call(c, stdin, line)
	case *syntax.BinaryCmd:
		return s.binary(c, stdin, line)
	case *syntax.Subshell:
		return s.statements(c.Stmts, stdin)
	case *syntax.Block:
		return s.statements(c.Stmts, stdin)
	case *syntax.IfClause:
		return s.conditional(c, stdin)
	case *syntax.WhileClause:
		return s.loop(c, stdin, line)
	case *syntax.ForClause:
		return s.forLoop(c, stdin)
	case *syntax.CaseClause:
		var out value
		for _, item := range c.Items {
			out = join(out, s.statements(item.Stmts, stdin))
		}
		return out
	case *syntax.FuncDecl:
		s.functions[c.Name.Value] = c.Body
		s.forkBomb(c, line)
		return s.statement(c.Body, stdin)
	case *syntax.DeclClause:
		return s.declare(c, line)
	case *syntax.TimeClause:
		return s.statement(c.Stmt, stdin)
	case *syntax.CoprocClause:
		return s.statement(c.Stmt, stdin)
	}
	return value{}
}

func (s *shell) conditional(c *syntax.IfClause, stdin value) value {
	var out value
	for ; c != nil; c = c.Else {
		s.statements(c.Cond, stdin)
		out = join(out, s.statements(c.Then, stdin))
	}
	return out
}

func (s *shell) loop(c *syntax.WhileClause, stdin value, line int) value {
	for _, st := range c.Cond {
		if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && s.word(call.Args[0]).text == "read" {
			for _, name := range call.Args[1:] {
				if word := s.word(name).text; word != "" && word[0] != '-' {
					s.vars[word] = value{taint: stdin.taint, names: stdin.names}
				}
			}
		}
	}
	s.statements(c.Cond, stdin)
	out := s.statements(c.Do, stdin)
	if endless(c) && backgrounds(c.Do) {
		s.report(bExhaust, line, 0.7, "")
	}
	return out
}

// endless reports "while true" and "while :".
func endless(c *syntax.WhileClause) bool {
	if len(c.Cond) != 1 {
		return false
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && (call.Args[0].Lit() == "true" || call.Args[0].Lit() == ":")
}

func backgrounds(list []*syntax.Stmt) bool {
	for _, st := range list {
		if st.Background {
			return true
		}
	}
	return false
}

func (s *shell) forLoop(c *syntax.ForClause, stdin value) value {
	if iter, ok := c.Loop.(*syntax.WordIter); ok {
		var items value
		for _, w := range iter.Items {
			item := s.word(w)
			items = join(items, item, constant("\n"))
		}
		s.vars[iter.Name.Value] = s.pathsOf(items)
	}
	return s.statements(c.Do, stdin)
}

// pathsOf keeps, of a list of words, the most telling one as the loop's value.
func (s *shell) pathsOf(items value) value {
	best := ""
	for item := range strings.SplitSeq(items.text, "\n") {
		if best == "" || classifyPath(item) == pathSecret {
			best = item
		}
	}
	items.text = best
	if strings.ContainsAny(best, "*") && (homePath.MatchString(best)) {
		items.taint |= fromHomeWalk
	}
	return items
}

func (s *shell) forkBomb(c *syntax.FuncDecl, line int) {
	name := c.Name.Value
	calls := 0
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) == 1 && call.Args[0].Lit() == name {
			calls++
		}
		return true
	})
	piped := false
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		if b, ok := n.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
			piped = true
		}
		return true
	})
	if calls >= 2 && piped {
		s.report(bExhaust, line, 0.93, "fork bomb")
	}
}

func (s *shell) binary(c *syntax.BinaryCmd, stdin value, line int) value {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		return s.statement(c.Y, s.statement(c.X, stdin))
	}
	return join(s.statement(c.X, stdin), s.statement(c.Y, stdin))
}

func (s *shell) declare(c *syntax.DeclClause, line int) value {
	for _, a := range c.Args {
		s.assign(a, line)
	}
	return value{}
}

func (s *shell) assign(a *syntax.Assign, line int) {
	if a == nil || a.Name == nil {
		return
	}
	var v value
	switch {
	case a.Array != nil:
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				v = join(v, s.word(e.Value), constant(" "))
			}
		}
	case a.Value != nil:
		v = s.word(a.Value)
	}
	name := a.Name.Value
	if name == "HISTFILE" && v.text == "/dev/null" || name == "HISTSIZE" && v.text == "0" {
		s.report(bCoverTracks, line, 0.8, name)
	}
	if name == "LD_PRELOAD" && v.text != "" && !strings.Contains(v.text, "jemalloc") {
		s.report(bRaiseRights, line, 0.62, name)
	}
	if a.Append {
		v = join(s.vars[name], v)
	}
	if v.text == "" && v.taint == 0 {
		v.text = ""
	}
	s.vars[name] = v
}

func (s *shell) call(c *syntax.CallExpr, stdin value, line int) value {
	for _, a := range c.Assigns {
		s.assign(a, line)
	}
	args := make([]value, 0, len(c.Args))
	for _, w := range c.Args {
		args = append(args, s.word(w))
	}
	if len(args) == 0 {
		return value{}
	}
	name := args[0].text
	if body, ok := s.functions[name]; ok && s.calling < 4 {
		s.calling++
		defer func() { s.calling-- }()
		for i, a := range args[1:] {
			s.vars[positional(i+1)] = a
		}
		s.vars["@"], s.vars["*"] = join(args[1:]...), join(args[1:]...)
		return s.statement(body, stdin)
	}
	return s.invoke(args, stdin, line)
}

func positional(i int) string { return string(rune('0' + min(i, 9))) }

// word evaluates a shell word.
func (s *shell) word(w *syntax.Word) value {
	if w == nil {
		return value{}
	}
	parts := make([]value, 0, len(w.Parts))
	for _, p := range w.Parts {
		parts = append(parts, s.part(p))
	}
	out := join(parts...)
	if len(parts) == 1 {
		out.callee = parts[0].callee
	}
	return out
}

func (s *shell) part(p syntax.WordPart) value {
	switch p := p.(type) {
	case *syntax.Lit:
		return constant(strings.ReplaceAll(p.Value, `\`, ""))
	case *syntax.SglQuoted:
		if p.Dollar {
			return constant(unescapeBackslash(p.Value))
		}
		return constant(p.Value)
	case *syntax.DblQuoted:
		parts := make([]value, 0, len(p.Parts))
		for _, inner := range p.Parts {
			parts = append(parts, s.part(inner))
		}
		return join(parts...)
	case *syntax.ParamExp:
		return s.parameter(p)
	case *syntax.CmdSubst:
		out := s.statements(p.Stmts, value{})
		out.taint |= fromCommand
		return out
	case *syntax.ProcSubst:
		return s.statements(p.Stmts, value{})
	}
	return value{}
}

func (s *shell) parameter(p *syntax.ParamExp) value {
	if p.Param == nil {
		return value{}
	}
	name := p.Param.Value
	if v, ok := s.vars[name]; ok {
		if v.text == "" && v.taint == 0 {
			return constant("")
		}
		return v
	}
	if len(name) < 2 || strings.ToUpper(name) != name || shellVariables[name] {
		return value{taint: 0, text: unknownText}
	}
	v := s.variable(s.line(p), name)
	if v.text == "" {
		v.text = unknownText
	}
	if p.Exp != nil && p.Exp.Word != nil {
		if fallback := s.word(p.Exp.Word); fallback.text != "" {
			v.text = fallback.text
		}
	}
	return v
}

var shellVariables = wordSet("PWD OLDPWD RANDOM SECONDS LINENO BASH_SOURCE FUNCNAME PIPESTATUS BASHPID UID EUID PPID OPTARG OPTIND REPLY IFS")
