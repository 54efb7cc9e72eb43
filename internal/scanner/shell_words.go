package scanner

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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

// indexSetting are variables that say where package managers fetch from.
var indexSetting = wordSet("PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX POETRY_REPOSITORIES NPM_CONFIG_REGISTRY npm_config_registry YARN_REGISTRY GOPROXY CARGO_REGISTRIES_CRATES_IO_INDEX BUNDLE_MIRROR__ALL")

var shellVariables = wordSet("PWD OLDPWD RANDOM SECONDS LINENO BASH_SOURCE FUNCNAME PIPESTATUS BASHPID UID EUID PPID OPTARG OPTIND REPLY IFS")

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
	if indexSetting[name] {
		if host := hostOf(v.text); host != "" && !isLocal(host) && !officialIndex.MatchString(host) {
			s.report(bForeignPackage, line, 0.72, host)
			s.observe(CapNetwork, host, line, false)
		}
	}
	if a.Append {
		v = join(s.vars[name], v)
	}
	if v.text == "" && v.taint == 0 {
		v.text = ""
	}
	s.vars[name] = v
}
