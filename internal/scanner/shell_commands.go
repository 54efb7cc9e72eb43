package scanner

import (
	"regexp"
	"strings"
)

// invoke is one external command or builtin: what it does to the outside and what
// comes out of it.
func (s *shell) invoke(args []value, stdin value, line int) value {
	name := commandName(args[0].text)
	rest := args[1:]
	if inner := unwrap(name, rest); inner != nil {
		if name == "sudo" || name == "doas" {
			s.sudo(line, rest, stdin)
		}
		s.observeCommand(name, line)
		if name == "xargs" {
			inner = append(inner, stdin)
		}
		return s.invoke(inner, stdin, line)
	}
	if name == strings.Trim(unknownText, " ") || name == "" {
		if args[0].taint != 0 {
			s.evaluates(line, args[0])
		}
		return value{}
	}
	s.observeCommand(name, line)
	all := join(spaced(args)...)
	s.telltales(line, name, all, rest)
	switch {
	case name == "curl" || name == "wget" || name == "http" || name == "xh":
		return s.webClient(line, name, rest, stdin)
	case shellNames[name] || interpreters[name] && (strings.HasPrefix(name, "python") || name == "node" || name == "perl" || name == "ruby"):
		return s.interpret(line, name, rest, stdin)
	case name == "eval":
		return s.evalCommand(line, rest)
	case name == "source" || name == ".":
		return s.interpret(line, "bash", rest, stdin)
	case networkTools[name]:
		return s.rawNetwork(line, name, rest, stdin)
	}
	return s.tool(line, name, rest, stdin)
}

func spaced(args []value) []value {
	out := make([]value, 0, 2*len(args))
	for i, a := range args {
		if i > 0 {
			out = append(out, constant(" "))
		}
		out = append(out, a)
	}
	return out
}

var (
	wrappers     = wordSet("sudo doas nohup time timeout xargs nice ionice stdbuf command builtin exec setsid unbuffer then busybox env parallel watch caffeinate")
	networkTools = wordSet("nc ncat netcat telnet socat scp rsync sftp ftp ssh openssl dig nslookup host drill ping mail sendmail mailx mutt git gh aws gsutil rclone s3cmd az")
	wrapperFlag  = regexp.MustCompile(`^(-|\d+[smhd]?$|\w+=)`)
)

// unwrap returns the command behind sudo, env, timeout and the like.
func unwrap(name string, rest []value) []value {
	if !wrappers[name] {
		return nil
	}
	for i, a := range rest {
		if !wrapperFlag.MatchString(a.text) && a.text != "{}" && (i == 0 || !flagWithValue[rest[i-1].text]) {
			return rest[i:]
		}
	}
	return nil
}

var flagWithValue = wordSet("-u -I -n -P -L -d -k -s --user")

func (s *shell) observeCommand(name string, line int) {
	if commandWord.MatchString(name) && !strings.Contains(name, unknownText) && !strings.HasSuffix(name, ".sh") && !strings.HasSuffix(name, ".py") {
		s.observe(CapCommand, name, line, false)
	}
}

var commandWord = regexp.MustCompile(`^[a-z][a-z0-9_+-]{0,40}$`)

func (s *shell) sudo(line int, rest []value, stdin value) {
	for _, a := range rest {
		if a.text == "-S" && (stdin.text != "" || stdin.taint != 0) {
			s.report(bRaiseRights, line, 0.8, "sudo -S")
		}
	}
}

// webClient is curl and wget: the address, what is sent, what is kept.
func (s *shell) webClient(line int, name string, rest []value, stdin value) value {
	var address, body, header, output value
	uploads := false
	for i := 0; i < len(rest); i++ {
		flag, inline, hasInline := strings.Cut(rest[i].text, "=")
		next := func() value {
			if hasInline && strings.HasPrefix(flag, "--") {
				v := rest[i]
				v.text = inline
				return v
			}
			if i+1 < len(rest) {
				i++
				return rest[i]
			}
			return value{}
		}
		switch {
		case bodyFlag[flag]:
			uploads = true
			body = join(body, s.payload(line, flag, next(), stdin))
		case gluedBody.MatchString(flag) && name == "curl":
			uploads = true
			glued := rest[i]
			glued.text = glued.text[2:]
			body = join(body, s.payload(line, flag[:2], glued, stdin))
		case flag == "-H" || flag == "--header" || flag == "-u" || flag == "--user" || flag == "-b" || flag == "--cookie":
			header = join(header, next())
		case flag == "-X" || flag == "--request" || flag == "--method":
			if m := next().text; m == "POST" || m == "PUT" {
				uploads = uploads || body.taint != 0
			}
		case flag == "-o" || flag == "--output" || flag == "-O" && name == "wget" || flag == "--output-document" || flag == "-P":
			output = next()
		case curlValueFlag[flag]:
			next()
		case strings.HasPrefix(flag, "-"):
			if strings.HasPrefix(flag, "-") && !strings.HasPrefix(flag, "--") && strings.HasSuffix(flag, "o") && name == "curl" {
				output = next()
			}
			if strings.HasPrefix(flag, "-") && strings.Contains(flag, "O") && name == "curl" {
				output = value{text: "*remote-name*"}
			}
		default:
			address = join(address, constant(" "), rest[i])
		}
	}
	address.text = strings.TrimSpace(address.text)
	out := s.network(line, address, body, header, uploads)
	if output.text == "*remote-name*" || output.text == "" && name == "wget" {
		output.text = address.text[strings.LastIndex(address.text, "/")+1:]
	}
	if output.text != "" && output.text != "-" {
		s.writes(line, output, out)
		return value{}
	}
	out.text = ""
	return out
}

var (
	bodyFlag      = wordSet("-d --data --data-binary --data-raw --data-urlencode --data-ascii -F --form --form-string -T --upload-file --json --post-data --post-file --body-data --body-file --url-query")
	gluedBody     = regexp.MustCompile(`^-[dFT][^\s-]`)
	curlValueFlag = wordSet("-A --user-agent -e --referer -m --max-time --connect-timeout --retry -x --proxy -w --write-out --cacert -c --cookie-jar --resolve -r --tries --timeout --retry-delay")
)

// payload reads "@file", "name=@file" and "-" the way curl does.
func (s *shell) payload(line int, flag string, v value, stdin value) value {
	text := v.text
	if flag == "-T" || flag == "--upload-file" || flag == "--post-file" || flag == "--body-file" {
		text = "@" + text
	}
	at := strings.Index(text, "@")
	if at < 0 || at > 0 && text[at-1] != '=' && flag != "-F" && flag != "--form" {
		return v
	}
	file, _, _ := strings.Cut(text[at+1:], ";")
	if file == "-" || file == "." || file == "/dev/stdin" {
		return join(v, stdin)
	}
	content := s.reads(line, value{text: file, taint: v.taint, names: v.names})
	return value{taint: v.taint | content.taint, names: appendNames(v.names, content.names)}
}

// interpret is sh, bash, python, node…: -c text, a script, or standard input.
func (s *shell) interpret(line int, name string, rest []value, stdin value) value {
	for i, a := range rest {
		if (a.text == "-c" || a.text == "-e" || strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "c") && shellNames[name]) && i+1 < len(rest) {
			return s.inlineProgram(line, name, rest[i+1])
		}
		if strings.HasPrefix(a.text, "-") {
			continue
		}
		return s.scriptArgument(line, a)
	}
	if stdin.taint != 0 || stdin.text != "" {
		s.pipedProgram(line, name, stdin)
	}
	return value{taint: fromCommand}
}

func (s *shell) scriptArgument(line int, a value) value {
	if s.downloaded[a.text] && a.text != "" {
		s.evaluates(line, value{taint: fromNetwork})
	} else if a.taint&(fromNetwork|fromDecoding) != 0 {
		s.evaluates(line, a)
	} else if f, ok := s.files[a.text]; ok && f.taint&fromDecoding != 0 {
		s.report(bDecodeRun, line, 0.85, a.text)
	}
	return value{taint: fromCommand}
}

func (s *shell) inlineProgram(line int, name string, code value) value {
	if code.taint&(fromNetwork|fromDecoding) != 0 {
		s.evaluates(line, code)
	}
	if s.depth >= 3 || code.text == "" {
		return value{}
	}
	switch {
	case shellNames[name]:
		return s.nestedShell(line, code)
	case name == "python":
		s.nestedProgram(line, code.text, pythonLanguage)
	case name == "node":
		s.nestedProgram(line, code.text, javascriptLanguage)
	}
	return value{taint: fromCommand}
}

// pipedProgram is text piped into an interpreter: from the network that is an
// installer at best; in a document about a known installer it is only worth a note.
func (s *shell) pipedProgram(line int, name string, stdin value) {
	switch {
	case stdin.taint&fromDecoding != 0:
		s.report(bDecodeRun, line, 0.92, "")
	case stdin.taint&fromNetwork != 0:
		s.evaluates(line, value{taint: fromNetwork})
	case shellNames[name] && stdin.text != "" && s.depth < 3:
		s.nestedShell(line, stdin)
	}
}

// installerHosts publish installers that their vendors tell people to pipe into a
// shell; the finding stays, as a note.
var installerHosts = regexp.MustCompile(`https://(sh\.rustup\.rs|static\.rust-lang\.org/rustup/|install\.pi-hole\.net|get\.docker\.com|raw\.githubusercontent\.com/(Homebrew/install|nvm-sh/nvm)/|get\.pnpm\.io|bun\.(sh|com)/install|deno\.land/(x/)?install|astral\.sh/(uv|ruff)|install\.python-poetry\.org|bootstrap\.pypa\.io|deb\.nodesource\.com|cli\.github\.com|sdk\.cloud\.google\.com|get\.helm\.sh|get\.k3s\.io|starship\.rs|ohmyposh\.dev|fnm\.vercel\.app|claude\.ai/install|ollama\.(com|ai)/install|get\.volta\.sh|pyenv\.run|mise\.run|nixos\.org/nix/install|install\.duckdb\.org|cursor\.com/install)`)

func knownInstaller(source string) bool { return installerHosts.MatchString(source) }

func (s *shell) evalCommand(line int, rest []value) value {
	code := join(spaced(rest)...)
	switch {
	case code.taint&(fromNetwork|fromDecoding) != 0:
		s.evaluates(line, code)
	case knownEval.MatchString(s.source(line)):
	case code.text != "" && s.depth < 3:
		return s.nestedShell(line, code)
	default:
		s.evaluates(line, code)
	}
	return value{}
}

var knownEval = regexp.MustCompile(`(ssh-agent|brew shellenv|direnv hook|pyenv init|rbenv init|conda|starship init|dircolors|fnm env|register-python-argcomplete|getopt)`)

// rawNetwork is every other tool that moves data over the network.
func (s *shell) rawNetwork(line int, name string, rest []value, stdin value) value {
	all := join(spaced(rest)...)
	switch name {
	case "dig", "nslookup", "host", "drill", "ping":
		if all.taint&(fromCommand|fromFile|fromSecretVar|fromDecoding|fromHost|sensitive) != 0 && strings.Contains(all.text, ".") {
			s.report(bExfilDNS, line, 0.85, "")
		}
		return value{taint: fromNetwork}
	case "git", "gh":
		return s.git(line, rest)
	case "openssl":
		if strings.Contains(all.text, "s_client") {
			return s.sendTo(line, all, stdin)
		}
		return s.opensslCrypt(line, all, stdin)
	case "aws", "gsutil", "az", "gcloud":
		return value{taint: fromCommand}
	}
	all.text = identityArgument.ReplaceAllString(all.text, " ")
	if shellOnSocket.MatchString(all.text) && name != "ssh" {
		s.report(bReverseShell, line, 0.92, "")
	}
	return s.sendTo(line, all, stdin)
}

var (
	shellOnSocket = regexp.MustCompile(`(?i)(^|\s)-\w*[ec]\s*["']?(/\S*/)?(ba|z|da)?sh\b|exec:["']?(/\S*/)?(ba|z)?sh|\|\s*(ba)?sh\s*\|`)
	// identityArgument is the key that ssh and what runs over it prove themselves with. It
	// stays on the machine.
	identityArgument = regexp.MustCompile(`(?:^|\s)(?:-o\s*)?IdentityFile[=\s]\S+|(?:^|\s)-i\s+\S*(?:id_|\.pem|key|\.ssh/)\S*`)
	remoteTarget     = regexp.MustCompile(`(?:[\w.-]+@)?((?:[a-z0-9-]+\.)+[a-z]{2,}|\d{1,3}(?:\.\d{1,3}){3})\b`)
)

// sendTo joins piped input and files among the arguments into what is sent.
func (s *shell) sendTo(line int, all value, stdin value) value {
	body := stdin
	for word := range strings.FieldsSeq(all.text) {
		if class := classifyPath(word); class == pathSecret && !strings.HasPrefix(word, "-") {
			body = join(body, s.reads(line, constant(word)))
		} else if f, ok := s.files[word]; ok {
			body = join(body, f)
		}
	}
	body.taint |= all.taint &^ (fromVariable | fromInput | fromCommand | fromHost)
	host := ""
	if m := remoteTarget.FindStringSubmatch(all.text); m != nil {
		host = m[1]
	}
	return s.network(line, value{text: host, taint: all.taint & fromDecoding}, value{taint: body.taint, names: body.names}, value{}, true)
}

func (s *shell) git(line int, rest []value) value {
	all := join(spaced(rest)...)
	if host := hostOf(all.text); host != "" {
		s.observe(CapNetwork, host, line, false)
	}
	if strings.Contains(all.text, "core.hooksPath") || strings.Contains(all.text, "core.sshCommand") || strings.Contains(all.text, "core.fsmonitor") || gitAliasShell.MatchString(all.text) {
		s.report(bPersist, line, 0.7, "git configuration that runs programs")
	}
	if strings.Contains(all.text, "auth token") || strings.Contains(all.text, "credential fill") {
		s.report(bReadSecret, line, 0.62, "")
		return value{taint: fromSecretFile, names: []string{"git credentials"}}
	}
	return value{taint: fromCommand}
}

var gitAliasShell = regexp.MustCompile(`alias\.\w+\s+["']?!`)

func (s *shell) opensslCrypt(line int, all value, stdin value) value {
	out := value{taint: stdin.taint, names: stdin.names}
	if strings.Contains(all.text, " -d") {
		out.taint |= fromDecoding
	}
	if strings.Contains(all.text, "enc ") && all.taint&(fromHomeWalk|fromWalk) != 0 {
		s.report(bEncryptFiles, line, 0.85, "")
	}
	for word := range strings.FieldsSeq(all.text) {
		if f, ok := s.files[word]; ok {
			out = join(out, f)
		} else if classifyPath(word) == pathSecret {
			out = join(out, s.reads(line, constant(word)))
		}
	}
	return out
}
