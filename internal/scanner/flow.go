package scanner

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// taint says where a value came from. Values join by union.
type taint uint32

const (
	fromVariable  taint = 1 << iota // one named environment variable
	fromSecretVar                   // one whose name says credential
	fromAllEnv                      // the environment as a whole
	fromFile
	fromSecretFile // a file that holds credentials
	fromHomeWalk   // a walk over the user's own files
	fromWalk       // a walk over any folder
	fromHost       // user name, host name, addresses
	fromNetwork
	fromDecoding // base64, hex, compression, reversal
	fromInput
	fromCapture // clipboard, screen, keyboard, camera
	fromCommand // a command's output
	fromPage    // what stands in a web page or its forms
	fromCaller  // what a function is given by callers that are not in sight
)

// value is what the analysers know of an expression: its text as far as it is
// constant, where it came from, and which function or module it names.
type value struct {
	text  string
	taint taint
	names []string // environment variables and paths it came from
	// callee is the dotted name of the module, class or function it refers to.
	callee string
	fn     *function
	list   []value // elements of a literal list, for command lines
	fields map[string]value
}

// unknownText stands in a constant text for a part that is only known at run time.
const unknownText = "\u2026"

const maxValueText = 32 << 10

func join(values ...value) value {
	var out value
	var sb strings.Builder
	for _, v := range values {
		out.taint |= v.taint
		out.names = appendNames(out.names, v.names)
		switch {
		case v.text != "":
			sb.WriteString(v.text)
		case v.taint != 0 || v.callee != "" || v.fn != nil:
			sb.WriteString(unknownText)
		}
		if sb.Len() > maxValueText {
			break
		}
	}
	out.text = sb.String()
	return out
}

// merge is join for alternatives: taints unite, the latest known text wins.
func merge(a, b value) value {
	b.taint |= a.taint
	b.names = appendNames(a.names, b.names)
	if b.text == "" {
		b.text = a.text
	}
	if b.callee == "" {
		b.callee = a.callee
	}
	if b.fn == nil {
		b.fn = a.fn
	}
	return b
}

func appendNames(to, from []string) []string {
	for _, n := range from {
		if len(to) >= 16 {
			break
		}
		if !slices.Contains(to, n) {
			to = append(slices.Clip(to), n)
		}
	}
	return to
}

func constant(text string) value { return value{text: text[:min(len(text), maxValueText)]} }

// tainted keeps origin and loses text: the result of computing with v.
func (v value) tainted(extra taint) value {
	return value{taint: v.taint | extra, names: v.names}
}

// where a path leads.
type pathClass int

const (
	pathOrdinary pathClass = iota
	pathSecret
	pathPersistence
	pathAgent // instructions and settings of agents
	pathSystem
	pathHome
)

var (
	secretPath      = regexp.MustCompile(`(?i)(\.ssh(/(id_|\*|identity|$|config)|$)|id_(rsa|ed25519|ecdsa|dsa)$|\.aws(/|$)|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.kube(/|$)|\.docker/config|gcloud(/|$)|application_default_credentials|/etc/shadow|\.gnupg|login data|cookies(\.sqlite)?$|logins\.json|key[34]\.db|keychains?(/|$)|wallet|\.bash_history|\.zsh_history|\.python_history|\.config/(gh|hub|op|rclone)|(^|/)\.env(\.[\w*]+)?$|\.env\*?$|\.p12$|\.pem$|\.pfx$|\.pgpass|\.vault-token|\.claude/\.credentials|\.azure(/|$)|/proc/(self|\d+)/environ|\.terraform\.d/credentials|\.cargo/credentials|\.m2/settings|metamask|exodus|electrum|1password|lastpass|bitwarden|keepass|\.kdbx|\.(openclaw|clawdbot)(/|$)|chrome/.*default|firefox/profiles|/run/secrets|serviceaccount/token|credentials(\.json|\.db)?$|wp-config\.php$|\.htpasswd$|config/database\.yml$)`)
	publicPath      = regexp.MustCompile(`(?i)(\.pub$|known_hosts|\.env\.(example|sample|template|dist)$|cacert|ca-bundle|fullchain|cert\.pem$|public)`)
	persistencePath = regexp.MustCompile(`(?i)(^|/|~)(\.(bashrc|zshrc|profile|bash_profile|zprofile|zshenv|bash_login|xprofile|xinitrc)$|\.config/(autostart|systemd|fish/config)|launchagents|launchdaemons|etc/(cron|rc\.local|profile|systemd|init\.d|ld\.so\.preload|environment|xdg/autostart|sudoers)|var/spool/cron|\.git/hooks|authorized_keys|\.ssh/(config|rc)|start menu/programs/startup|sitecustomize\.py|usercustomize\.py|[^/]*\.pth$|\.gitconfig$|\.git-templates)|currentversion.run|\.git/hooks/|/hooks/(pre-commit|post-commit|pre-push|post-merge|post-checkout|post-rewrite|commit-msg|prepare-commit-msg|pre-rebase|post-receive)$`)
	agentPath       = regexp.MustCompile(`(?i)(^|/)(claude\.md|agents\.md|gemini\.md|\.cursorrules|\.windsurfrules|\.clinerules|copilot-instructions\.md|\.mcp\.json|mcp(_config|_settings)?\.json|claude_desktop_config\.json|memory\.md|soul\.md|identity\.md|heartbeat\.md|(openclaw|clawdbot|moltbot|opencode)\.json|\.gemini/settings\.json|\.claude\.json|\.mcp/[^\s]+|\.claude/(settings|hooks|commands|skills|agents)[^\s]*|\.cursor/[^\s]+|\.codex/[^\s]+|\.vscode/(settings|tasks)\.json)$|\.claude/(settings|skills|hooks|commands|agents)`)
	systemPath      = regexp.MustCompile(`(?i)^(/etc|/usr|/bin|/sbin|/boot|/lib|/sys|/proc|/dev/(sd|nvme|hd|vd|mem)|c:.windows|/system|/library)(/|$)`)
	homePath        = regexp.MustCompile(`^(~|\$HOME|\$\{HOME\}|/home/|/Users/|/root|%USERPROFILE%|C:.Users)`)
)

func classifyPath(p string) pathClass {
	if len(p) > 4096 {
		p = p[:4096]
	}
	if !strings.ContainsAny(p, "/\\.~$%_-: ") && !strings.HasPrefix(p, "id") {
		return classifyWord(p)
	}
	if known, ok := pathClasses.Load(p); ok {
		return known.(pathClass)
	}
	class := classifyText(p)
	if pathClassCount.Add(1) < maxPathClasses {
		pathClasses.Store(p, class)
	}
	return class
}

// pathClasses remembers paths: programs name the same few again and again, and the
// patterns are the most expensive thing the layer does to them.
var (
	pathClasses    sync.Map
	pathClassCount atomic.Int64
)

const maxPathClasses = 20_000

// classifyWord is for names that can't be paths to anything special but a few words.
func classifyWord(p string) pathClass {
	switch strings.ToLower(p) {
	case "wallet", "keychain", "cookies", "keychains", "metamask", "exodus", "electrum":
		return pathSecret
	}
	return pathOrdinary
}

func classifyText(p string) pathClass {
	p = strings.Trim(strings.ReplaceAll(p, `\`, "/"), `"' `)
	switch {
	case secretPath.MatchString(p) && !publicPath.MatchString(p):
		return pathSecret
	case persistencePath.MatchString(p) && (!strings.HasPrefix(p, unknownText) || strings.Contains(p, "/hooks/")):
		return pathPersistence
	case agentPath.MatchString(p):
		return pathAgent
	case systemPath.MatchString(p):
		return pathSystem
	case homePath.MatchString(p):
		return pathHome
	}
	return pathOrdinary
}

// readTaint is the origin of what is read from a path.
func readTaint(p string) taint {
	if classifyPath(p) == pathSecret {
		if strings.HasSuffix(p, "/environ") {
			return fromAllEnv
		}
		return fromSecretFile
	}
	return fromFile
}

// sensitive are origins that have no business on the network.
const sensitive = fromSecretFile | fromAllEnv | fromCapture

// program collects what one program does and turns it into findings and
// observations. All three languages report to it.
type program struct {
	v           *visit
	stated      bool    // the description names what the document then shows (see statedStartUp)
	documentary bool    // found in a document, which may or may not be run
	weight      float64 // of confidence: less where the text discusses or tests
	lineOffset  int     // of the program within its file
	declared    []string
	files       map[string]value // what the program wrote where
	downloaded  map[string]bool
	lines       []string
	depth       int  // of programs within programs
	hooks       bool // the settings hold hooks of an agent
	quiet       bool
}

func (v *visit) newProgram(source string) *program {
	return &program{v: v, weight: roleWeight(v.info.role), files: map[string]value{}, downloaded: map[string]bool{}, lines: strings.Split(source, "\n")}
}

func roleWeight(role fileRole) float64 {
	switch role {
	case roleTest:
		return 0.35
	case roleVendored:
		return 0.75
	case roleExample:
		return 0.85
	}
	return 1
}

// report adds a behavioral finding.
func (p *program) report(rule behavior, line int, confidence float64, detail string) {
	if p.quiet {
		return
	}
	if p.stated && rule == bPersist {
		confidence *= statedFactor[p.documentary]
	}
	spec := behaviors[rule]
	message := spec.message
	if detail != "" {
		message += " (" + detail + ")"
	}
	p.v.findings.add(Finding{
		RuleID: string(rule), Category: spec.category, Severity: spec.severity, Confidence: confidence * p.weight,
		Title: spec.title, Message: message, Remediation: spec.remediation,
		FilePath: p.v.file.Path, LineStart: line + p.lineOffset, Snippet: p.source(line),
	}, p.source(line))
}

// statedFactor is what is left of the confidence in a start-up finding where the
// bundle's description says that it is about such programs; more of it in a script,
// which acts, than in a document.
var statedFactor = map[bool]float64{true: 0.55, false: 0.7}

func (p *program) source(line int) string {
	if line < 1 || line > len(p.lines) {
		return ""
	}
	return redactAssignments(strings.TrimSpace(p.lines[line-1]))
}

var quotedSecret = regexp.MustCompile(`(?i)((?:token|secret|passw\w*|api_?key|authorization|bearer)["']?\s*[:= ]\s*["']?)([A-Za-z0-9+/_.-]{12,})`)

func redactAssignments(s string) string {
	if len(s) > 4*maxSnippet {
		s = s[:4*maxSnippet]
	}
	return quotedSecret.ReplaceAllString(s, "${1}[redacted]")
}

func (p *program) observe(capability, val string, line int, secret bool) {
	if p.quiet || p.v.info.role == roleTest || p.v.info.role == roleVendored {
		return
	}
	if strings.Contains(val, unknownText) && capability != CapRead && capability != CapWrite {
		return
	}
	p.v.observed.add(Observation{
		Capability: capability, Value: val, FilePath: p.v.file.Path, LineStart: line + p.lineOffset, Documentary: p.documentary, Sensitive: secret,
	})
}

func (p *program) observePath(capability, path string, line int) {
	path = strings.ReplaceAll(cleanPath(strings.TrimSpace(path)), unknownText, "*")
	if path == "" || path == "." || path == "*" || strings.ContainsAny(path, "\n<>|") || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/tmp") {
		return
	}
	class := classifyPath(path)
	if class == pathOrdinary && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "..") && !strings.HasPrefix(path, "~") {
		return // inside the workspace
	}
	p.observe(capability, path, line, class == pathSecret)
}
