package scanner

import (
	"errors"
	"path"
	"regexp"
	"strings"
	"time"
)

func behavioralLayer() Layer {
	return Layer{Name: LayerBehavioral, Limit: 2 * time.Minute, visit: visitBehavioral, newState: func() any { return &behavioralState{} }}
}

// behavioralState is what the layer reads once per bundle.
type behavioralState struct {
	modules map[string]bool // names that are files or folders of the bundle
	texts   string          // what the documents say, see namesHost
	named   map[string]bool // hosts that were looked for in texts
	allowed *Capabilities   // what the bundle declares
}

// visitBehavioral follows what a program does with real parsers; in a document it
// reads the code blocks, which an agent may run.
func visitBehavioral(v *visit) {
	switch v.info.kind {
	case kindShell, kindPython, kindJavaScript, kindNotebook, kindMarkdown, kindConfig, kindCode, kindHTML:
	default:
		return
	}
	if v.info.role == roleLock {
		return
	}
	text, err := v.file.readText()
	if err != nil {
		v.findings.indeterminate(v.file.Path, "unreadable", "The file could not be read: "+readReason(err))
		return
	}
	switch v.info.kind {
	case kindShell, kindPython, kindJavaScript:
		v.analyze(text, v.info.kind)
	case kindNotebook:
		v.notebook(text)
	case kindMarkdown:
		v.document(text)
	case kindConfig:
		v.commandsOf(text)
	case kindHTML:
		v.page(text)
	case kindCode:
		v.plainProgram(text, strings.ToLower(path.Ext(v.file.Path)))
	}
}

// allowed is what the bundle declares; nothing where it declares nothing.
func (v *visit) allowed() *Capabilities {
	state := v.state.(*behavioralState)
	if state.allowed == nil {
		state.allowed = &Capabilities{}
		if d, err := readDeclaration(v.bundle); err == nil {
			state.allowed = &d.Capabilities
		}
	}
	return state.allowed
}

func (v *visit) declaredDomains() []string { return v.allowed().Network.Domains }

func (v *visit) declaresCommand(name string) bool {
	return anyCovers(CapCommand, v.allowed().Shell.Commands, name)
}

func (v *visit) analyze(text string, kind fileKind) {
	p := v.newProgram(text)
	p.declared = v.declaredDomains()
	p.stated = statedStartUp(v.bundle)
	if kind == kindShell {
		v.unread(p.analyzeShell(text), "shell")
		return
	}
	lang := languageOf(kind, path.Ext(v.file.Path))
	broken, err := p.analyzeProgram(text, lang, 0)
	if err == nil && broken > 0.5 {
		err = errSyntax
	}
	v.unread(err, lang.name)
}

// unread reports why a program could not be followed, if it couldn't.
func (v *visit) unread(err error, language string) {
	switch {
	case err == nil:
	case errors.Is(err, errSyntax):
		v.unparsed(language)
	case errors.Is(err, errProgramTooLarge):
		v.findings.indeterminate(v.file.Path, "too_large", "The program is too large or too deeply nested to be parsed.")
	default:
		v.findings.indeterminate(v.file.Path, "unparsed", "The program could not be parsed.")
	}
}

// languageOf picks the dialect by what a file's extension or a fence says.
func languageOf(kind fileKind, dialect string) programLanguage {
	if kind == kindPython {
		return pythonLanguage()
	}
	switch strings.TrimPrefix(strings.ToLower(dialect), ".") {
	case "ts", "mts", "cts", "typescript":
		return typescriptLanguage(typescriptGrammar)
	case "tsx":
		return typescriptLanguage(tsxGrammar)
	}
	return javascriptLanguage()
}

// unparsed is milder than other indeterminate findings: the text rules still read
// the file, and dialects (Flow, zsh, Python 2) end here without any intent.
func (v *visit) unparsed(language string) {
	v.findings.add(Finding{
		RuleID: LayerBehavioral + ".indeterminate.syntax", Category: CategoryIndeterminate, Severity: SeverityLow, Confidence: 0.6, FilePath: v.file.Path,
		Title: "Not fully checked", Message: "Parts of the file are not valid " + language + " and were read as text only.", Remediation: "Correct the syntax, or name the file by its language.",
	}, "syntax")
}

func (v *visit) notebook(text string) {
	python, sh, ok := notebookCode(text)
	if !ok {
		v.findings.indeterminate(v.file.Path, "notebook", "The notebook is not valid JSON.")
		return
	}
	v.analyze(python, kindPython)
	if strings.TrimSpace(sh) != "" {
		v.analyze(sh, kindShell)
	}
}

var languageOfFence = map[string]fileKind{
	"bash": kindShell, "sh": kindShell, "shell": kindShell, "zsh": kindShell, "console": kindShell, "terminal": kindShell, "shell-session": kindShell,
	"python": kindPython, "py": kindPython, "python3": kindPython, "javascript": kindJavaScript, "js": kindJavaScript, "typescript": kindJavaScript, "ts": kindJavaScript, "tsx": kindJavaScript, "node": kindJavaScript, "jsx": kindJavaScript,
}

var (
	runRequest  = regexp.MustCompile(`(?i)\b(run|execute|first|before|start by|always|then|use|invoke|call|type|issue|must|step|install|setup|set up|prepare|initiali[sz]e)\b`)
	looksShell  = regexp.MustCompile(`(?m)^\s*(\$ |sudo |curl |wget |bash |sh |rm |export |echo |cat |pip |npm |git |chmod |python3? )`)
	looksPython = regexp.MustCompile(`(?m)^\s*(import \w+|from \w[\w.]* import )`)
)

// document reads a document's code blocks. In the main file an agent is likely to
// run them; elsewhere, or where the text discusses attacks, less so.
func (v *visit) document(text string) {
	for _, b := range markdownBlocks(text) {
		if b.context != ctxCode && b.context != ctxComment || v.ctx.Err() != nil {
			continue
		}
		kind, ok := languageOfFence[b.lang]
		source := strings.Join(b.lines, "\n")
		if !ok && (b.lang == "" || b.lang == "text") {
			switch {
			case looksPython.MatchString(source):
				kind, ok = kindPython, true
			case looksShell.MatchString(source):
				kind, ok = kindShell, true
			}
		}
		if ok {
			v.codeBlock(b, source, kind)
		}
	}
}

func (v *visit) codeBlock(b block, source string, kind fileKind) {
	p := v.newProgram(source)
	p.declared = v.declaredDomains()
	p.documentary = true
	p.lineOffset = b.start - 1
	p.weight = roleWeight(v.info.role) * documentWeight(v.info, b)
	if b.context == ctxCode && teachesSecurity(v.bundle) && !toBeRun.MatchString(tail(b.intro, 120)) {
		p.weight *= 0.6
	}
	p.stated = statedStartUp(v.bundle)
	var err error
	if kind == kindShell {
		err = p.analyzeShell(promptless(source))
	} else {
		_, err = p.analyzeProgram(source, languageOf(kind, b.lang), 0)
	}
	// A fragment that doesn't parse is read by the text rules all the same.
	if err != nil && !errors.Is(err, errSyntax) {
		v.unread(err, b.lang)
	}
}

var startUpPurpose = regexp.MustCompile(`(?i)\b(systemd|services?|units?|cron|schedul\w+|launchd|autostart|start-?up|git hooks?|pre-commit|dotfiles?|shell (profile|config\w*)|daemons?|certificates?|tls)\b`)

// statedStartUp reports a bundle whose description says that it is about programs
// which start by themselves, so that a document which shows how is what it says.
func statedStartUp(b *Bundle) bool {
	return aboutOf(b).startUp
}

func documentWeight(info fileInfo, b block) float64 {
	weight := 0.75
	if info.role == roleMain {
		weight = 0.9
		if runRequest.MatchString(b.intro) || runRequest.MatchString(b.heading) {
			weight = 0.97
		}
	}
	if b.context == ctxComment {
		return 1
	}
	if discussion.MatchString(b.heading) || discussion.MatchString(tail(b.intro, 200)) {
		weight *= 0.5
	}
	return weight
}

// promptless drops "$ " prompts, so that a console transcript's commands parse.
func promptless(source string) string {
	lines := strings.Split(source, "\n")
	for i, l := range lines {
		trimmed := strings.TrimLeft(l, " ")
		if rest, ok := strings.CutPrefix(trimmed, "$ "); ok {
			lines[i] = rest
		} else if rest, ok := strings.CutPrefix(trimmed, "# "); ok && strings.HasPrefix(rest, "curl") {
			lines[i] = rest
		}
	}
	return strings.Join(lines, "\n")
}
