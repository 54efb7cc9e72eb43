package scanner

import (
	"regexp"
	"strings"
)

// network reports a call to the network. address is the URL or host; body is what is
// sent as content or in the URL; header is what authenticates it.
func (p *program) network(line int, address, body, header value, uploads bool) value {
	host := hostOf(address.text)
	if host == "" && bareHost.MatchString(address.text) {
		host = strings.ToLower(strings.Split(address.text, ":")[0])
	}
	p.peer(line, host, address)
	if knownInstaller(address.text) && !uploads {
		p.report(bInstallerDoc, line, 0.3, "a well-known installer")
		return value{}
	}
	sent := address.taint &^ (fromVariable | fromDecoding | fromNetwork | fromInput)
	// An address that was found in a file is visited, not sent anywhere.
	if strings.Trim(address.text, unknownText) == "" && address.taint&(fromVariable|fromDecoding|sensitive) == 0 && !uploads {
		sent &^= fromFile | fromWalk
	}
	if uploads {
		sent |= body.taint
	}
	p.leak(line, host, sent|header.taint&sensitive, address, body, header, uploads)
	return value{taint: fromNetwork, names: address.names}
}

var (
	bareHost    = regexp.MustCompile(`^(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]{2,}(?::\d+)?$`)
	catcherHost = regexp.MustCompile(`(?i)(^|\.)(webhook\.site|requestbin\.\w+|pipedream\.net|ngrok(-free)?\.(io|app|dev)|burpcollaborator\.net|interact\.sh|oast\.\w+|beeceptor\.com|hookbin\.com|requestcatcher\.com|trycloudflare\.com|serveo\.net|dnslog\.\w+|canarytokens\.\w+|termbin\.com|ix\.io|transfer\.sh|0x0\.st|file\.io|gofile\.io|pastebin\.com|paste\.ee|anonfiles\.com)$`)
	chatWebhook = regexp.MustCompile(`(?i)discord(app)?\.com/api/webhooks|api\.telegram\.org/bot`)
	metadataIP  = regexp.MustCompile(`169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|fd00:ec2::254`)
)

func (p *program) peer(line int, host string, address value) {
	if address.taint&fromDecoding != 0 {
		p.report(bHiddenAddress, line, 0.82, host)
	}
	if metadataIP.MatchString(address.text) {
		p.report(bMetadata, line, 0.85, "")
	}
	if catcherHost.MatchString(host) || chatWebhook.MatchString(address.text) {
		p.report(bExfilCatcher, line, p.catcherConfidence(host, address), host)
	}
	if host == "" || isLocal(host) {
		return
	}
	if rawAddress.MatchString(host) && !privateAddress.MatchString(host) {
		p.report(bRawAddress, line, 0.7, host)
	}
	p.observe(CapNetwork, host, line, false)
}

var privateAddress = regexp.MustCompile(`^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.)`)

// catcherConfidence is low for a chat bot whose token the user sets and whose host
// the declaration names: that is the user's own channel.
func (p *program) catcherConfidence(host string, address value) float64 {
	switch {
	case catcherHost.MatchString(host) || address.taint&fromVariable == 0:
		return 0.75
	case p.isDeclared(host):
		return 0.35
	}
	return 0.5
}

// leak judges what leaves the machine in one call; the worst origin is reported.
func (p *program) leak(line int, host string, sent taint, address, body, header value, uploads bool) {
	detail := strings.Join(appendNames(appendNames(nil, body.names), address.names), ", ")
	if host != "" && isLocal(host) {
		return
	}
	known := 1.0
	if host != "" && p.isDeclared(host) {
		known = 0.6 // openly declared, so the reviewer knows where it goes
	}
	switch {
	case sent&(fromSecretFile|fromAllEnv) != 0:
		p.report(bExfilSecret, line, 0.92, detail)
	case sent&fromCapture != 0:
		p.report(bExfilCapture, line, 0.88, detail)
	case sent&fromHomeWalk != 0:
		p.report(bExfilFiles, line, 0.88, detail)
	case sent&fromWalk != 0 && sent&fromFile != 0:
		p.report(bExfilFiles, line, 0.66*known, detail)
	case sent&fromHost != 0:
		p.report(bExfilHost, line, 0.68*known, detail)
	case uploads && sent&fromCommand != 0:
		p.report(bExfilOutput, line, 0.6*known, detail)
	case uploads && sent&(fromFile|fromInput|fromPage) != 0 && p.unnamed(host):
		p.report(bExfilUnnamed, line, 0.68, host)
	case uploads && sent&fromCaller != 0 && p.unnamed(host):
		p.report(bExfilUnnamed, line, 0.62, host)
	case uploads && sent&fromFile != 0:
		p.report(bExfilFile, line, 0.5, detail)
	}
	p.keyAbroad(line, host, address, body, header, uploads)
}

// keyAbroad: an API client sends its own key to its own API, that is ordinary. A key
// in the body or URL of a call to a host that the key's name has nothing to do with
// and that nobody declared is not; several keys in one call never are.
func (p *program) keyAbroad(line int, host string, address, body, header value, uploads bool) {
	keys := secretVariables(appendNames(appendNames(nil, body.names), address.names))
	if !uploads {
		keys = secretVariables(address.names)
	}
	if brands := distinctBrands(keys); brands >= 2 {
		p.report(bExfilKeyAbroad, line, 0.85, strings.Join(keys, ", "))
		return
	}
	if host == "" || p.isDeclared(host) {
		return
	}
	for _, key := range keys {
		if !sameBrand(key, host) {
			p.report(bExfilKeyAbroad, line, 0.65, key+" to "+host)
			return
		}
	}
	for _, key := range secretVariables(header.names) {
		if brand := knownBrand(key); brand != "" && !sameBrand(key, host) {
			p.report(bExfilKeyAbroad, line, 0.8, key+" to "+host)
			return
		}
	}
}

func (p *program) isDeclared(host string) bool {
	return anyCovers(CapNetwork, p.declared, host)
}

func secretVariables(names []string) []string {
	var out []string
	for _, n := range names {
		if secretLike(n) && !strings.ContainsAny(n, "/~.") {
			out = append(out, n)
		}
	}
	return out
}

var brandHosts = map[string]string{
	"openai": "openai", "anthropic": "anthropic|claude", "claude": "anthropic|claude", "github": "github", "gh": "github", "gitlab": "gitlab", "aws": "amazon|aws", "stripe": "stripe",
	"slack": "slack", "google": "google", "gemini": "google", "azure": "azure|microsoft|windows", "hf": "huggingface", "huggingface": "huggingface", "npm": "npm", "pypi": "pypi", "notion": "notion",
	"twilio": "twilio", "sendgrid": "sendgrid", "cloudflare": "cloudflare", "digitalocean": "digitalocean", "heroku": "heroku", "discord": "discord", "telegram": "telegram", "jira": "atlassian|jira", "linear": "linear",
}

func brandOf(variable string) string {
	word, _, _ := strings.Cut(strings.ToLower(variable), "_")
	return word
}

func knownBrand(variable string) string {
	if _, ok := brandHosts[brandOf(variable)]; ok {
		return brandOf(variable)
	}
	return ""
}

func sameBrand(variable, host string) bool {
	brand := brandOf(variable)
	for word := range strings.SplitSeq(brandHosts[brand], "|") {
		if word != "" && strings.Contains(host, word) {
			return true
		}
	}
	return len(brand) >= 3 && strings.Contains(strings.ReplaceAll(host, "-", ""), brand)
}

func distinctBrands(keys []string) int {
	seen := map[string]bool{}
	for _, k := range keys {
		seen[brandOf(k)] = true
	}
	return len(seen)
}

// documentedInstaller is the installation line that many projects document: worth a
// look, since the script can change, but no theft by itself.
var documentedInstaller = regexp.MustCompile(`https://[a-z0-9.-]+\.[a-z]{2,}(?:[/"'\s)|]|$)|^(sudo )?(ba|z)?sh \S+\.sh`)

// evaluates reports code that is run from a value.
func (p *program) evaluates(line int, code value) {
	switch {
	case code.taint&fromNetwork != 0 && p.documentary && documentedInstaller.MatchString(p.source(line)):
		p.report(bInstallerDoc, line, 0.75, "")
	case code.taint&fromNetwork != 0:
		p.report(bDownloadRun, line, 0.9, "")
	case code.taint&fromDecoding != 0:
		p.report(bDecodeRun, line, 0.9, "")
	case code.taint != 0 || code.text == "" || strings.Contains(code.text, unknownText):
		p.report(bDynamicCode, line, 0.5, "")
	}
}

// runs reports a command that a program starts; a constant command line is read as
// shell, so the same rules hold for os.system("curl …") and for a script.
func (p *program) runs(line int, command value) value {
	switch {
	case command.taint&fromNetwork != 0 && !strings.HasPrefix(command.text, "git ") && leadsCommand(command):
		p.report(bDownloadRun, line, 0.85, "")
	case command.taint&fromDecoding != 0:
		p.report(bDecodeRun, line, 0.88, "")
	case command.taint&fromInput != 0:
		p.report(bShellInjection, line, 0.5, "")
	}
	if path := p.startsDownload(command.text); path != "" {
		p.report(bDownloadRun, line, 0.85, path)
	}
	out := value{taint: fromCommand | command.taint&(sensitive|fromSecretVar), names: command.names}
	if strings.TrimSpace(strings.Trim(command.text, unknownText)) != "" && p.depth < 3 {
		result := p.nestedShell(line, command)
		out.taint |= result.taint
		out.names = appendNames(out.names, result.names)
	}
	return out
}

// startsDownload is the downloaded file that a command starts, if it does: the first in
// the alphabet, so that every scan says the same.
func (p *program) startsDownload(command string) string {
	started := ""
	if p.quiet {
		return ""
	}
	for path := range p.downloaded {
		if len(path) > 3 && (started == "" || path < started) && strings.Contains(command, path) && startsOrInterprets(command, path) {
			started = path
		}
	}
	return started
}

// maxDownloads is how many downloaded files of one program are looked for in its commands.
const maxDownloads = 200

// leadsCommand reports that the unknown part is the program itself, not an argument.
func leadsCommand(command value) bool {
	text := strings.TrimSpace(command.text)
	return text == "" || strings.HasPrefix(text, unknownText) || strings.HasPrefix(text, "sh -c") || strings.HasPrefix(text, "bash -c") || strings.Contains(text, "python -c") || strings.Contains(text, "node -e")
}

func startsOrInterprets(command, path string) bool {
	fields := strings.Fields(command)
	if len(fields) == 0 {
		return false
	}
	return strings.Contains(fields[0], path) || interpreters[commandName(fields[0])] || commandName(fields[0]) == "chmod" || commandName(fields[0]) == "sudo" || commandName(fields[0]) == "open" || commandName(fields[0]) == "start"
}

// writes reports a file that is written or appended to.
func (p *program) writes(line int, path, content value) {
	if path.text == "" {
		return
	}
	for target := range strings.SplitSeq(path.text, "\n") {
		p.observePath(CapWrite, target, line)
		switch classifyPath(target) {
		case pathPersistence, pathSecret:
			if persistencePath.MatchString(strings.ReplaceAll(target, `\`, "/")) && (!strings.HasPrefix(target, unknownText) || strings.Contains(target, "/hooks/")) {
				p.report(bPersist, line, persistConfidence(target, content), target)
			}
		case pathAgent:
			p.report(bAgentConfig, line, 0.7, target)
		case pathSystem:
			if !strings.HasPrefix(target, "/dev/") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/") {
				p.report(bSystemWrite, line, 0.6, target)
			}
		}
	}
	if shadowedCommand.MatchString(path.text) && content.text != "" {
		p.report(bPersist, line, 0.72, "takes the place of a command")
	}
	if content.taint&fromNetwork != 0 {
		if len(p.downloaded) < maxDownloads {
			p.downloaded[path.text] = true
		}
		p.selfUpdate(line, path.text)
	}
	if strings.HasPrefix(content.text, "#!") && strings.Contains(firstLine(content.text), "sh") && p.depth < 3 {
		p.nestedShell(line, content)
	}
	p.files[path.text] = merge(p.files[path.text], value{taint: content.taint, names: content.names, text: content.text})
}

// selfUpdate reports a download that takes the place of the bundle's own files: what
// was reviewed is then no longer what runs.
func (p *program) selfUpdate(line int, target string) {
	for part := range strings.FieldsFuncSeq(target, func(r rune) bool { return r == '\n' || r == '/' }) {
		if base := strings.Trim(part, unknownText); base == "SKILL.md" || base == "COURSE.md" || base == "AGENTS.md" || base == "CLAUDE.md" {
			p.report(bSelfUpdate, line, 0.82, base)
			return
		}
	}
}

// shadowedCommand is a file that would be run in place of a trusted command.
var shadowedCommand = regexp.MustCompile(`(^|/)(sudo|su|ssh|git|ls|gpg|docker|kubectl|aws|npm|pip|login|passwd)$`)

var pathSetting = regexp.MustCompile(`(?i)^\s*(export\s+)?(PATH=|[A-Z_]+_HOME=)|completion|nvm|pyenv|direnv|starship`)

// toolActivation is the line by which a tool's own documentation says to activate it.
var toolActivation = regexp.MustCompile(`^\s*eval "?\$\((?:(?:/opt/homebrew|/usr/local|/home/linuxbrew/.linuxbrew)/bin/)?(?:brew|rbenv|pyenv|nodenv|jenv|asdf|mise|fnm|direnv|zoxide|atuin|starship|thefuck) (?:shellenv|init|hook|activate|env)(?: [\w-]+)*\)"?\s*$`)

// persistConfidence is lower for what installers commonly add: PATH and completion.
func persistConfidence(target string, content value) float64 {
	if pathSetting.MatchString(content.text) || toolActivation.MatchString(content.text) {
		return 0.35
	}
	if strings.HasPrefix(target, unknownText) {
		return 0.62
	}
	return 0.82
}

// reads reports a file that is opened for reading and gives what comes out of it.
func (p *program) reads(line int, path value) value {
	out := value{taint: path.taint & (fromHomeWalk | fromWalk | fromNetwork | fromDecoding), names: path.names}
	if known, ok := p.files[path.text]; ok && path.text != "" {
		return value{taint: known.taint | out.taint, names: appendNames(known.names, out.names), text: known.text}
	}
	out.taint |= fromFile
	if path.text == "" {
		return out
	}
	out.taint |= readTaint(path.text)
	p.observePath(CapRead, path.text, line)
	if out.taint&(fromSecretFile|fromAllEnv) != 0 {
		out.names = appendNames(out.names, []string{path.text})
		confidence := 0.6
		if strings.Contains(path.text, ".env") || strings.HasSuffix(path.text, ".pem") || strings.HasSuffix(path.text, "credentials.json") || ownSettings.MatchString(path.text) {
			confidence = 0.3 // a project's own .env or certificate is read every day
		}
		p.report(bReadSecret, line, confidence, path.text)
	}
	return out
}

// ownSettings hold the credentials of the very application a program works on.
var ownSettings = regexp.MustCompile(`(wp-config\.php|\.htpasswd|database\.yml)$`)

var wholeTree = regexp.MustCompile(`^["']?(/|~/?|\$HOME/?|\$\{HOME\}/?|/\*|~/\*|\$HOME/\*|/home/?|/Users/?|/etc/?|/usr/?|/var/?|/boot/?|/root/?|\*|\.\.?/\*|~/(Documents|Desktop|Pictures|Downloads|Library|\.ssh|projects|src|code|work)/?\*?|[A-Z]:[\\/]?\*?|%USERPROFILE%)["']?$`)

// deletes reports a recursive deletion.
func (p *program) deletes(line int, path value, recursive bool) {
	target := strings.TrimSpace(path.text)
	switch {
	case recursive && wholeTree.MatchString(target) && target != "*" && !strings.HasPrefix(target, "."):
		p.report(bWipe, line, 0.92, target)
	case recursive && target == "*":
		p.report(bWipe, line, 0.5, target)
	case path.taint&fromHomeWalk != 0:
		p.report(bEncryptFiles, line, 0.85, target)
	case recursive && strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "/tmp") && !strings.HasPrefix(target, "/var/tmp") && classifyPath(target) != pathSystem && !strings.Contains(target, unknownText):
		p.report(bWipe, line, 0.36, target)
	case classifyPath(target) == pathSystem && recursive:
		p.report(bWipe, line, 0.8, target)
	case strings.Contains(target, "_history"):
		p.report(bCoverTracks, line, 0.8, target)
	}
	p.observePath(CapWrite, target, line)
}

// variable is the value of an environment variable.
func (p *program) variable(line int, name string) value {
	p.observe(CapVariable, name, line, secretLike(name))
	v := value{taint: fromVariable, names: []string{name}}
	switch {
	case name == "HOME" || name == "USERPROFILE":
		return value{text: "~"}
	case name == "USER" || name == "HOSTNAME" || name == "LOGNAME" || name == "USERNAME" || name == "COMPUTERNAME":
		v.taint |= fromHost
	case secretLike(name):
		v.taint |= fromSecretVar
	}
	return v
}
