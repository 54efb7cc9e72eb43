package scanner

import (
	"strconv"
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
		return s.binary(c, stdin)
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
		if c.Name != nil && c.Body != nil { // the parser recovers from what is missing
			s.functions[c.Name.Value] = c.Body
			s.forkBomb(c, line)
		}
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
	if iter, ok := c.Loop.(*syntax.WordIter); ok && iter.Name != nil {
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

func (s *shell) binary(c *syntax.BinaryCmd, stdin value) value {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		return s.statement(c.Y, s.statement(c.X, stdin))
	}
	return join(s.statement(c.X, stdin), s.statement(c.Y, stdin))
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
	if tool := commandName(name); (powerfulCommands[tool] || tool == "eval" || tool == "exec") && len(c.Args) > 0 && disguisedWord(c.Args[0]) {
		s.report(bHiddenName, line, 0.78, tool)
	}
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

func positional(i int) string { return strconv.Itoa(min(i, 9)) }

// disguisedWord reports a command's name that is spelled with escapes or pieced
// together from quotations, which a search does not find.
func disguisedWord(w *syntax.Word) bool {
	if len(w.Parts) > 1 {
		for _, p := range w.Parts {
			switch p.(type) {
			case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
			default:
				return false
			}
		}
	}
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) || len(w.Parts) > 1 && !strings.Contains(p.Value, "/") {
				return true
			}
		case *syntax.DblQuoted:
			if len(w.Parts) > 1 && len(p.Parts) == 0 {
				return true
			}
		case *syntax.Lit:
			// One backslash at the front is the usual way around an alias.
			if at := strings.LastIndexByte(p.Value, '\\'); (at > 0 || at == 0 && i > 0) && at+1 < len(p.Value) && isWordStart(p.Value[at+1]) {
				return true
			}
		}
	}
	return false
}
