package scanner

import (
	"regexp"
	"strings"
)

var (
	readers  = wordSet("cat head tail less more tac nl awk sed grep egrep rg cut sort uniq strings xxd od hexdump base64 base32 gzip bzip2 xz zstd gpg jq yq tee tr rev fold column paste zip tar cp mv dd wc openssl split 7z")
	decoders = regexp.MustCompile(`(?i)\bbase(64|32)\b.*\s(-d|-D|--decode)\b|\bxxd\b.*\s-\w*r|\brev\b|\b(gunzip|zcat)\b|\bgzip\b.*\s-\w*d|\btr\b\s+\S*(a-z\S*\s+\S*n-za-m|N-ZA-M)|\bgpg\b.*\s(-d|--decrypt)`)
)

// tool is a local command: files it reads, writes, deletes; what it prints.
func (s *shell) tool(line int, name string, rest []value, stdin value) value {
	all := join(spaced(rest)...)
	switch name {
	case "echo", "printf":
		out := join(spaced(rest)...)
		if name == "printf" || strings.Contains(out.text, `\x`) {
			out.text = unescapeBackslash(out.text)
		}
		return out
	case "env", "printenv", "set", "export", "declare":
		return s.environment(line, name, rest)
	case "find", "ls", "locate", "fd":
		return s.walk(line, name, rest, all)
	case "rm", "shred", "unlink", "rmdir":
		return s.remove(line, name, rest)
	case "hostname", "whoami", "uname", "id", "ifconfig", "ip", "who", "last", "sw_vers", "system_profiler", "lscpu", "arp", "netstat":
		return value{taint: fromHost | fromCommand, text: ""}
	case "pbpaste", "xclip", "xsel", "wl-paste", "screencapture", "scrot", "import", "gnome-screenshot", "ffmpeg", "imagesnap":
		if name == "ffmpeg" && !strings.Contains(all.text, "avfoundation") && !strings.Contains(all.text, "x11grab") {
			return value{taint: fromCommand}
		}
		return s.capture(rest)
	case "security", "secret-tool", "pass", "op", "cmdkey", "keyctl", "vault", "lpass", "bw":
		return s.keychain(line, name, all)
	case "mysql", "psql", "sqlite3", "mongosh", "redis-cli":
		return value{taint: fromCommand}
	}
	if readers[name] {
		return s.filter(line, name, rest, stdin)
	}
	return value{taint: fromCommand | all.taint&sensitive, names: all.names}
}

func (s *shell) environment(line int, name string, rest []value) value {
	args := 0
	for _, a := range rest {
		if !strings.HasPrefix(a.text, "-") {
			args++
		}
	}
	if args == 0 {
		return value{taint: fromAllEnv, names: []string{"environment"}}
	}
	if name == "printenv" {
		return s.variable(line, rest[len(rest)-1].text)
	}
	return value{}
}

func (s *shell) capture(rest []value) value {
	out := value{taint: fromCapture, names: []string{"captured input"}}
	for _, a := range rest {
		if !strings.HasPrefix(a.text, "-") && a.text != "" {
			s.files[a.text] = out
		}
	}
	return out
}

func (s *shell) keychain(line int, name string, all value) value {
	if name == "security" && !strings.Contains(all.text, "find-") && !strings.Contains(all.text, "dump-keychain") || name == "vault" && !strings.Contains(all.text, "get") {
		return value{taint: fromCommand}
	}
	s.report(bReadSecret, line, 0.65*s.openly(name), name)
	return value{taint: fromSecretFile, names: []string{name}}
}

// walk is a search for files; what it prints are paths, and over a home folder that
// is a search through the user's own files.
func (s *shell) walk(line int, name string, rest []value, all value) value {
	out := value{taint: all.taint & fromHomeWalk}
	if name == "ls" {
		return value{taint: fromCommand}
	}
	out.taint |= fromWalk
	if len(rest) > 0 && (homePath.MatchString(rest[0].text) || rest[0].text == "/") {
		out.taint |= fromHomeWalk
	}
	if secretSearch.MatchString(all.text) {
		out.taint |= fromSecretFile
		out.names = []string{"files that look like credentials"}
	}
	if strings.Contains(all.text, " -delete") && out.taint&fromHomeWalk != 0 && !strings.Contains(all.text, "-name") {
		s.report(bWipe, line, 0.85, "")
	}
	return s.findExec(line, rest, out)
}

var secretSearch = regexp.MustCompile(`(?i)\.env|\*?\.pem|id_rsa|id_ed|\*?\.key|credential|wallet|\.kdbx|secret|password|token`)

// findExec runs what -exec names with the found paths in place of {}.
func (s *shell) findExec(line int, rest []value, found value) value {
	for i, a := range rest {
		if a.text != "-exec" && a.text != "-execdir" || i+1 >= len(rest) {
			continue
		}
		var inner []value
		for _, b := range rest[i+1:] {
			if b.text == ";" || b.text == "+" {
				break
			}
			if strings.Contains(b.text, "{}") {
				b = value{text: strings.ReplaceAll(b.text, "{}", unknownText), taint: found.taint, names: found.names}
			}
			inner = append(inner, b)
		}
		if len(inner) > 0 && s.depth < 3 {
			return join(found, s.invoke(inner, value{}, line))
		}
	}
	return found
}

func (s *shell) remove(line int, name string, rest []value) value {
	recursive := name == "shred"
	for _, a := range rest {
		if strings.HasPrefix(a.text, "-") {
			recursive = recursive || strings.ContainsAny(strings.TrimPrefix(a.text, "--"), "rR") && !strings.HasPrefix(a.text, "--preserve")
			if a.text == "--no-preserve-root" {
				s.report(bWipe, line, 0.93, a.text)
			}
			continue
		}
		if a.taint&(fromWalk|fromHomeWalk) != 0 && name == "shred" {
			s.report(bEncryptFiles, line, 0.85, "")
		}
		if a.text == "$0" || a.text == "__unknown__" {
			s.report(bCoverTracks, line, 0.6, "")
		}
		s.deletes(line, a, recursive)
	}
	return value{}
}

// filter is a command that prints what it reads, changed or not.
func (s *shell) filter(line int, name string, rest []value, stdin value) value {
	out := value{taint: stdin.taint, names: stdin.names, text: stdin.text}
	files := make([]value, 0, len(rest))
	for i, a := range rest {
		if strings.HasPrefix(a.text, "-") || (i == 0 && patternFirst[name]) {
			continue
		}
		files = append(files, a)
	}
	all := name + " " + join(spaced(rest)...).text
	for _, f := range files {
		if name == "tee" || name == "tar" && isArchive(f.text) || name == "zip" && isArchive(f.text) {
			continue
		}
		content := s.reads(line, f)
		content.taint |= f.taint & (fromWalk | fromHomeWalk | fromSecretFile)
		out = join(out, content)
	}
	s.sideEffects(line, name, files, out)
	if decoders.MatchString(all) {
		return decodedValue(out, all)
	}
	if name == "base64" || name == "xxd" || name == "od" || name == "gzip" || name == "openssl" {
		out.text = ""
	}
	return out
}

var patternFirst = wordSet("grep egrep rg awk sed tr jq yq cut head tail")

func isArchive(name string) bool {
	for _, ext := range []string{".tar", ".tgz", ".gz", ".zip", ".bz2", ".xz", ".7z"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}

// sideEffects are the files that readers also write: copies, archives, tee's targets.
func (s *shell) sideEffects(line int, name string, files []value, content value) {
	switch name {
	case "cp", "mv", "dd":
		if len(files) > 1 {
			s.writes(line, files[len(files)-1], content)
		}
		for _, f := range files {
			if device, ok := strings.CutPrefix(f.text, "of=/dev/"); ok && !strings.HasPrefix(device, "null") && !strings.HasPrefix(device, "std") {
				s.report(bWipe, line, 0.9, f.text)
			}
		}
	case "tee":
		for _, f := range files {
			s.writes(line, f, content)
		}
	case "tar", "zip", "7z":
		for _, f := range files {
			if isArchive(f.text) {
				s.files[f.text] = merge(s.files[f.text], value{taint: content.taint | homeTaint(files), names: content.names})
			}
		}
	}
}

func homeTaint(files []value) taint {
	for _, f := range files {
		if wholeTree.MatchString(f.text) && homePath.MatchString(f.text) {
			return fromHomeWalk
		}
	}
	return 0
}

// decodedValue decodes a constant, so that what it hides is read too.
func decodedValue(v value, command string) value {
	out := value{taint: v.taint | fromDecoding, names: v.names}
	text := strings.TrimSpace(v.text)
	switch {
	case text == "":
	case strings.Contains(command, "base64"):
		out.text = fromBase64(text)
	case strings.Contains(command, "xxd"):
		out.text = fromHex(text)
	case strings.HasPrefix(command, "rev"):
		out.text = reverse(text)
	case strings.HasPrefix(command, "tr "):
		out.text = strings.Map(rot13, text)
	}
	return out
}

// telltale is a command line that speaks for itself.
type telltale struct {
	pattern    *regexp.Regexp
	rule       behavior
	confidence float64
}

func tell(pattern string, rule behavior, confidence float64) telltale {
	return telltale{regexp.MustCompile(`(?i)` + pattern), rule, confidence}
}

// telltales by the command's name; each pattern sees "name arguments".
var telltales = map[string][]telltale{
	"crontab":     {tell(`^crontab\s+(?:-u\s+\S+\s+)?(-\s*$|[^-\s]\S*|-e)`, bPersist, 0.8), tell(`^crontab\s*$`, bPersist, 0.8), tell(`-r\b`, bCoverTracks, 0.5)},
	"at":          {tell(`^at\s+(now|\d|-f|midnight|noon|teatime)`, bPersist, 0.65)},
	"systemctl":   {tell(`\s(--user\s+)?enable\b`, bPersist, 0.65), tell(`\b(stop|disable|mask)\b.*\b(auditd|rsyslog|apparmor|ufw|firewalld|falcon|clamav|osquery|crowdstrike|sysmon)`, bDisableSecurity, 0.85)},
	"launchctl":   {tell(`\b(load|bootstrap|submit|enable)\b`, bPersist, 0.75)},
	"schtasks":    {tell(`/create`, bPersist, 0.8)},
	"reg":         {tell(`add\b.*currentversion.*run`, bPersist, 0.85)},
	"update-rc.d": {tell(`.`, bPersist, 0.65)},
	"chmod":       {tell(`\s([ugoa]*\+s|[246]7[0-7]{2}|0?[246]7[0-7]{2})\b`, bRaiseRights, 0.85), tell(`\s(-R\s+)?0?777\s+(/|~|\$HOME)(\s|$|etc|usr)`, bRaiseRights, 0.8)},
	"setcap":      {tell(`cap_(setuid|sys_admin|dac_override)`, bRaiseRights, 0.85)},
	"visudo":      {tell(`.`, bRaiseRights, 0.75)},
	"pkexec":      {tell(`.`, bRaiseRights, 0.65)},
	"useradd":     {tell(`\s(-\w*[oGp]\b|--(groups|non-unique|password)|-u\s*0\b|-s\s*\S*/(ba|z)?sh\b)`, bRaiseRights, 0.62)},
	"adduser":     {tell(`.`, bRaiseRights, 0.62)},
	"usermod":     {tell(`\s-\w*G\s*\S*(sudo|wheel|docker|root|admin)`, bRaiseRights, 0.75)},
	"passwd":      {tell(`.`, bRaiseRights, 0.6)},
	"chpasswd":    {tell(`.`, bRaiseRights, 0.8)},
	"setenforce":  {tell(`\b(0|permissive)\b`, bDisableSecurity, 0.85)},
	"ufw":         {tell(`\bdisable\b`, bDisableSecurity, 0.8)},
	"iptables":    {tell(`\s(-F|--flush)\b|-P\s+INPUT\s+ACCEPT`, bDisableSecurity, 0.75)},
	"spctl":       {tell(`--(master|global)-disable`, bDisableSecurity, 0.88)},
	"csrutil":     {tell(`\bdisable\b`, bDisableSecurity, 0.9)},
	"xattr":       {tell(`-\w*[dc]\w*\s+com\.apple\.quarantine|-\w*c`, bDisableSecurity, 0.7)},
	"auditctl":    {tell(`-e\s*0|-D`, bDisableSecurity, 0.85)},
	"history":     {tell(`\s-\w*[cw]`, bCoverTracks, 0.8)},
	"unset":       {tell(`HISTFILE`, bCoverTracks, 0.85)},
	"journalctl":  {tell(`--vacuum|--rotate`, bCoverTracks, 0.5)},
	"truncate":    {tell(`-s\s*0\s+(/var/log|\S*_history)`, bCoverTracks, 0.85)},
	"wevtutil":    {tell(`\bcl\b`, bCoverTracks, 0.88)},
	"mkfs":        {tell(`/dev/`, bWipe, 0.9)}, "mkfs.ext4": {tell(`/dev/`, bWipe, 0.9)},
	"wipefs":    {tell(`/dev/`, bWipe, 0.9)},
	"dd":        {tell(`of=/dev/(sd|nvme|hd|vd|disk|mmc)`, bWipe, 0.92), tell(`if=/dev/(zero|urandom)\s.*of=(/|~)`, bExhaust, 0.4)},
	"diskutil":  {tell(`erase|secureErase`, bWipe, 0.85)},
	"kill":      {tell(`-9\s+-1\b`, bExhaust, 0.85)},
	"fallocate": {tell(`-l\s*\d{3,}G`, bExhaust, 0.75)},
	"docker":    {tell(`--privileged|-v\s+["']?/:/|docker\.sock:|--pid[ =]host|--cap-add[ =](ALL|SYS_ADMIN)`, bHostEscape, 0.82), tell(`(-v|--volume)[\s=]+["']?(\$HOME|\$\{HOME\}|~|/root|/home/\w+)/?:`, bHostEscape, 0.7), tell(`(system|volume)\s+prune\s+.*(-f|--force)|rm\s+-f\s+.*ps -aq`, bWipe, 0.4)},
	"podman":    {tell(`--privileged|-v\s+["']?/:/`, bHostEscape, 0.8)},
	"nsenter":   {tell(`-t\s*1\b|--target[ =]1`, bHostEscape, 0.85)},
	"kubectl":   {tell(`cluster-admin`, bRaiseRights, 0.8), tell(`get\s+secrets?\b.*(-A|--all-namespaces|-o)`, bReadSecret, 0.7), tell(`delete\s+(ns|namespace|all|pv).*(--all|\s-A)`, bWipe, 0.8)},
	"aws":       {tell(`AdministratorAccess|attach-user-policy|create-access-key`, bRaiseRights, 0.75), tell(`s3\s+(rb|rm)\s.*(--force|--recursive)`, bWipe, 0.6), tell(`secretsmanager\s+(list-secrets|get-secret-value)|ssm\s+get-parameters-by-path.*decrypt`, bReadSecret, 0.5)},
	"terraform": {tell(`destroy\b.*(-auto-approve|-force)`, bWipe, 0.65)},
	"git":       {tell(`push\s+.*(--mirror|--all)\s+https?://`, bExfilFiles, 0.65), tell(`filter-branch|reset\s+--hard\s+.*&&\s*git\s+push\s+-f|push\s+.*(--force|-f)\b.*\b(main|master|--all)\b`, bWipe, 0.5), tell(`stash\s+clear|clean\s+-\w*x|push\s+\S+\s+(--delete|-d)\s+\S*\x{2026}`, bWipe, 0.4), tell(`reflog\s+expire\s.*(--expire=now|--all)`, bWipe, 0.45)},
	"osascript": {tell(`display dialog.*(password|passcode).*hidden answer|hidden answer`, bFakePrompt, 0.88), tell(`with administrator privileges`, bRaiseRights, 0.7), tell(`login item`, bPersist, 0.75)},
	"zenity":    {tell(`--password|--hide-text`, bFakePrompt, 0.8)},
	"kdialog":   {tell(`--password`, bFakePrompt, 0.8)},
	"alias":     {tell(`\b(sudo|ssh|su|git|ls|cd)=.*(curl|wget|nc |/tmp|read -s)`, bPersist, 0.85)},
	"claude":    {tell(`--dangerously-skip-permissions|bypassPermissions`, bAutonomy, 0.8)},
	"codex":     {tell(`--dangerously|--yolo|--full-auto`, bAutonomy, 0.75)},
	"gemini":    {tell(`--yolo|\s-y\b`, bAutonomy, 0.7)},
	"aider":     {tell(`--yes-always`, bAutonomy, 0.6)},
	"xmrig":     {tell(`.`, bMining, 0.95)}, "minerd": {tell(`.`, bMining, 0.95)}, "cpuminer": {tell(`.`, bMining, 0.95)}, "ethminer": {tell(`.`, bMining, 0.95)},
	"gpg":    {tell(`--(export-secret|export-secret-keys)`, bReadSecret, 0.8)},
	"ssh":    {tell(`\s-\w*R\s*\S*\d+:`, bReverseShell, 0.72), tell(`StrictHostKeyChecking=no.*-\w*N`, bReverseShell, 0.5)},
	"python": {tell(`-m\s+http\.server\b.*(--directory|-d)\s+(/|~|\$HOME)(\s|$)`, bExfilFiles, 0.75)},
	"insmod": {tell(`\.ko`, bRaiseRights, 0.85)}, "modprobe": {tell(`.`, bRaiseRights, 0.6)},
	"sysctl":   {tell(`-w\s+kernel\.(yama|randomize|kptr)`, bDisableSecurity, 0.75)},
	"defaults": {tell(`LSQuarantine|GKAutoRearm|LoginHook`, bDisableSecurity, 0.8)},
	"tmutil":   {tell(`delete|disable`, bWipe, 0.7)},
	"vssadmin": {tell(`delete\s+shadows`, bWipe, 0.93)},
	"stress":   {tell(`.`, bExhaust, 0.5)},
}

// administrationTools are what administrators work with all day: one that the
// declaration names says openly that the skill is about that work.
var administrationTools = wordSet("vault aws gcloud az op bw pass systemctl docker podman useradd")

// openly is what is left of the confidence in a command whose use is in plain sight.
func (s *shell) openly(name string) float64 {
	switch {
	case administrationTools[name] && s.v.declaresCommand(name):
		return 0.7
	case name == "systemctl" && s.documentary:
		return 0.8 // the reader is shown how to start a service
	}
	return 1
}

func (s *shell) telltales(line int, name string, all value, rest []value) {
	text := name + strings.TrimPrefix(all.text, strings.SplitN(all.text, " ", 2)[0])
	for _, t := range telltales[name] {
		if t.pattern.MatchString(text) {
			s.report(t.rule, line, t.confidence*s.openly(name), "")
		}
	}
	if strings.Contains(all.text, "stratum+") {
		s.report(bMining, line, 0.95, "")
	}
	if metadataIP.MatchString(all.text) && !networkTools[name] && name != "curl" && name != "wget" && name != "echo" {
		s.report(bMetadata, line, 0.7, "")
	}
	if p := all.text[:min(len(all.text), 200)]; s.downloaded[strings.TrimPrefix(strings.SplitN(p, " ", 2)[0], "./")] || s.downloaded[strings.SplitN(p, " ", 2)[0]] {
		s.report(bDownloadRun, line, 0.85, "")
	}
	s.installs(line, name, rest)
}

// installs observes packages that a script installs.
func (s *shell) installs(line int, name string, rest []value) {
	if len(rest) < 2 || !installers[name] || rest[0].text != "install" && rest[0].text != "add" && rest[0].text != "i" {
		return
	}
	s.foreignPackages(line, rest[1:])
	for i, a := range rest[1:] {
		if a.text == "" || strings.HasPrefix(a.text, "-") || i > 0 && flagWithFile[rest[i].text] || strings.ContainsAny(a.text, "/"+unknownText) && !strings.HasPrefix(a.text, "@") || a.text == "." {
			continue
		}
		s.observe(CapPackage, packageName(a.text), line, false)
	}
}

// foreignPackages reports packages that come from elsewhere than the registry: an
// archive or repository on a host that is no well-known forge, or another index.
func (s *shell) foreignPackages(line int, rest []value) {
	for i, a := range rest {
		host := hostOf(a.text)
		if _, remote, ok := strings.Cut(a.text, "git@"); ok && host == "" {
			host = hostOf("ssh://" + strings.Replace(remote, ":", "/", 1))
		}
		index := indexFlag.MatchString(a.text) || i > 0 && indexFlag.MatchString(rest[i-1].text)
		switch {
		case host == "" || isLocal(host) || officialIndex.MatchString(host):
		case index:
			s.report(bForeignPackage, line, 0.7, host)
		case knownForge.MatchString(host):
			s.report(bForeignPackage, line, 0.35, host)
		default:
			s.report(bForeignPackage, line, 0.72, host)
		}
	}
}

var (
	indexFlag     = regexp.MustCompile(`^(-i|-f|--(extra-)?index(-url)?|--find-links|--registry|--default-index|--source)\b`)
	officialIndex = regexp.MustCompile(`^(pypi\.org|test\.pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|npm\.pkg\.github\.com|rubygems\.org|download\.pytorch\.org|crates\.io|conda\.anaconda\.org)$`)
	knownForge    = regexp.MustCompile(`^(github\.com|gitlab\.com|codeberg\.org|bitbucket\.org|codeload\.github\.com|raw\.githubusercontent\.com|git\.sr\.ht)$`)
)

var (
	installers   = wordSet("pip npm yarn pnpm gem cargo uv pipx")
	flagWithFile = wordSet("-r -c -e -t --requirement --target --index-url --extra-index-url -i")
)
