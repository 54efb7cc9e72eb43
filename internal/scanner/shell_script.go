package scanner

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var errSyntax = errors.New("the program is not valid in its language")

// analyzeShell reads a shell program; it says if parts did not parse.
func (p *program) analyzeShell(source string) error {
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

// The parser recurses and a goroutine's stack that is full ends the process, so what
// can nest is counted beforehand, whether it does or not. An opener takes some 1.5 KiB
// of stack, an operator of an arithmetic expression some 300 bytes.
const (
	maxShellBytes     = 512 << 10 // a command of two bytes takes more than a KiB
	maxShellOpeners   = 30_000
	maxShellOperators = 200_000
)

var shellOpeners = []string{"(", "{", "`", "|", "&", "!", "if", "while", "until", "for", "case", "select", "function", "time", "coproc"}

func tooNested(source string) bool {
	openers, operators := 0, 0
	for _, word := range shellOpeners {
		openers += strings.Count(source, word)
	}
	for _, operator := range []string{"-", "+", "~", "?", "=", "*"} {
		operators += strings.Count(source, operator)
	}
	return openers > maxShellOpeners || operators > maxShellOperators
}

func parseShell(source string) (*syntax.File, error) {
	if len(source) > maxShellBytes || tooNested(source) {
		return nil, errProgramTooLarge
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(4)).Parse(strings.NewReader(source), "")
}

// script parses all of source, or, where that fails, the lines that parse alone: a
// document's example often holds a placeholder that is no valid shell.
func (s *shell) script(source string, base int) error {
	s.base = base
	file, err := parseShell(source)
	if err == nil {
		s.statements(file.Stmts, value{})
		return nil
	}
	tooLarge := errors.Is(err, errProgramTooLarge)
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
	if tooLarge {
		return errProgramTooLarge
	}
	return errSyntax
}
