package scanner

import (
	"regexp"
	"slices"
	"strings"
)

// fill: setting a member of a request is putting data into it.
func (r *plainReader) fill(targets []plainToken, m *plainMeaning) {
	for _, t := range targets {
		if v, ok := r.lookup(plainBase(t.text)); ok && v.callee == plainConnection && strings.Contains(t.text, ".") && m.conn.callee == "" {
			m.conn = v
		}
	}
}

// effects does what a statement does and returns what it evaluates to.
func (r *plainReader) effects(m *plainMeaning, tokens []plainToken) value {
	out := m.data
	if m.header.callee != "" {
		out.callee = plainHeader
	}
	if m.effect&plOpen != 0 && r.pipes(m) {
		m.effect |= plRun
	}
	switch {
	case m.effect&(plGet|plSend) != 0 && (m.conn.callee == "" || m.addressed() != ""):
		out = r.request(m, m.effect&plSend != 0 || requestsUpload(m, tokens))
	case m.effect&plConn != 0 && m.addressed() != "" && m.conn.callee == "":
		out = r.connection(m, tokens)
	case m.effect&plConn != 0 && m.conn.callee == "":
		out = value{callee: plainConnection, taint: m.data.taint, names: m.data.names}
	case m.conn.callee != "":
		out = r.sendOn(m)
	case m.effect&plLookup != 0:
		r.nameLookup(m)
	}
	if m.effect&plRun != 0 {
		out = r.command(m, tokens)
	}
	if m.effect&plWrite != 0 || m.effect&plOpen != 0 && m.opensToWrite() {
		r.write(m)
	}
	if m.effect&plDelete != 0 {
		r.remove(m, tokens)
	}
	if m.effect&plEval != 0 && (m.data.taint|out.taint)&(fromNetwork|fromDecoding) != 0 {
		r.evaluates(m.line, value{taint: (m.data.taint | out.taint) & (fromNetwork | fromDecoding)})
	}
	r.windows(m)
	return out
}

// addressed is the part of a statement that says where to.
func (m *plainMeaning) addressed() string {
	for _, text := range []string{m.given.text, m.data.text} {
		if at := strings.Index(text, "://"); at >= 0 && hostOf(text) != "" {
			return text[max(0, at-len("https")):min(len(text), at+maxAddress)]
		}
	}
	for _, p := range m.parts {
		host := strings.TrimSpace(p.text)
		if bareHost.MatchString(host) && (strings.ContainsRune(host, ':') || !fileName.MatchString(host)) {
			return host
		}
	}
	return ""
}

const maxAddress = 300 // bytes of an address that are looked at

var fileName = regexp.MustCompile(`(?i)\.(csv|txt|json|md|log|xml|ya?ml|html?|pdf|png|jpe?g|sql|db|zip|gz|tmp|rb|pl|php|lua|go|ps1|exe|dat|ini|conf|cfg|key|pem|env|docx?|xlsx?)$`)

// requestsUpload reports a request whose method or arguments say that it carries data.
func requestsUpload(m *plainMeaning, tokens []plainToken) bool {
	for _, t := range tokens {
		word := strings.ToLower(t.text)
		if t.kind == 'f' && (word == "body" || word == "infile" || word == "form") {
			return true
		}
		if (t.kind == 's' || t.kind == 'w') && (word == "post" || word == "put") || strings.Contains(t.text, "POSTFIELDS") {
			return true
		}
	}
	return slices.ContainsFunc(m.parts, func(p value) bool { return strings.Contains(p.text, "POST") && len(p.text) < 400 })
}

// carried is what a request takes along besides the address and what authenticates it.
func (m *plainMeaning) carried() (body, header value) {
	body = value{taint: m.data.taint &^ fromNetwork, names: m.data.names}
	if m.header.callee != "" {
		header = value{taint: m.header.taint, names: m.header.names}
	}
	return body, header
}

func (r *plainReader) request(m *plainMeaning, uploads bool) value {
	if r.quiet {
		return value{taint: fromNetwork, names: m.data.names}
	}
	address := value{text: m.addressed(), taint: m.given.taint & fromDecoding}
	if m.conn.callee != "" && address.text == "" {
		address.text = m.conn.text
	}
	if hostOf(address.text) != "" && slices.ContainsFunc(m.parts, func(p value) bool { return p.taint == 0 && hostOf(p.text) != "" }) {
		address.taint = 0
	}
	if address.text != "" && hostOf(m.given.text) == "" && m.effect&plDecode != 0 && hostOf(m.data.text) != "" {
		address.taint |= fromDecoding
	}
	body, header := m.carried()
	if body.taint&(sensitive|fromHomeWalk|fromHost|fromCommand) != 0 {
		uploads = true // a query carries it as well
	}
	if body.taint&fromFile != 0 && strings.Contains(address.text, "?") {
		uploads = true
	}
	if host := hostOf(address.text); host == "" && m.given.taint&fromDecoding != 0 && m.effect&plMail != 0 {
		r.report(bHiddenAddress, m.line, 0.75, "of a mail")
	}
	if !uploads {
		header = join(header, body)
		body = value{}
	}
	out := r.network(m.line, address, body, header, uploads)
	out.text = ""
	return out
}

// connection opens one that later statements fill.
func (r *plainReader) connection(m *plainMeaning, tokens []plainToken) value {
	out := value{callee: plainConnection, text: m.addressed()}
	if m.effect&plConn != 0 && m.data.taint&(sensitive|fromHomeWalk|fromHost|fromFile|fromCommand) != 0 {
		r.request(m, true)
		return out
	}
	address := value{text: out.text, taint: m.given.taint & fromDecoding}
	r.network(m.line, address, value{}, value{}, false)
	if shellAttached(tokens) {
		r.report(bReverseShell, m.line, 0.85, "")
	}
	return out
}

func shellAttached(tokens []plainToken) bool {
	return slices.ContainsFunc(tokens, func(t plainToken) bool { return t.kind == 's' && shellBinary.MatchString(t.text) })
}

var shellBinary = regexp.MustCompile(`^(/bin/|/usr/bin/)?(ba|z|da)?sh( -i)?$|^(cmd|powershell)(\.exe)?$`)

// sendOn is data that goes into a connection.
func (r *plainReader) sendOn(m *plainMeaning) value {
	body, header := m.carried()
	if body.taint&^(fromVariable|fromNetwork|fromDecoding) != 0 || body.taint&fromSecretVar != 0 && header.names == nil {
		r.network(m.line, value{text: strings.TrimSpace(m.conn.text)}, body, header, true)
	}
	return value{taint: fromNetwork, callee: plainConnection, text: m.conn.text}
}

func (r *plainReader) nameLookup(m *plainMeaning) {
	if m.data.taint&(sensitive|fromFile|fromHost|fromCommand|fromSecretVar) != 0 {
		r.report(bExfilDNS, m.line, 0.85, "")
	}
}

// pipes reports an open that starts a command, as Perl's does.
func (r *plainReader) pipes(m *plainMeaning) bool {
	if r.extension != ".pl" {
		return false
	}
	return slices.ContainsFunc(m.parts, func(p value) bool {
		return p.text == "|-" || p.text == "-|" || strings.HasPrefix(p.text, "|") || strings.HasSuffix(p.text, "|")
	})
}

// command runs what a program starts, read as shell.
func (r *plainReader) command(m *plainMeaning, tokens []plainToken) value {
	var words []value
	glued := false
	for i := max(m.run, 0); i < len(tokens); i++ {
		switch t := tokens[i]; t.kind {
		case 's', '`':
			words = addWord(words, r.inlined(t), glued)
			glued = false
		case 'w':
			if v, ok := r.lookup(plainBase(t.text)); ok && v.callee == "" && !keyOf(tokens, i) {
				words = addWord(words, v, glued)
			} else if glued {
				words = addWord(words, value{text: unknownText}, glued)
			}
			glued = false
		case 'o':
			glued = t.text == "." || t.text == "+" || t.text == "&" || t.text == "~"
			if t.text == "{" && len(words) > 0 {
				i = len(tokens) // options
			}
		}
	}
	command := join(spaced(words)...)
	command.taint |= m.data.taint & (fromNetwork | fromDecoding)
	command.text = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(command.text, "|- "), "-| "), "| ")
	r.pipedCommand(m, command)
	tool := commandName(command.text)
	var out value
	r.openly(anyCovers(CapCommand, r.allowed.Shell.Commands, tool), func() { out = r.runs(m.line, command) })
	if streamTools[tool] {
		return value{callee: plainConnection, text: command.text}
	}
	return out
}

// streamTools send what is written to them to where their arguments say.
var streamTools = wordSet("curl wget nc ncat netcat socat telnet mail mailx sendmail")

// openly does something that the declaration names, which a reviewer sees there.
func (r *plainReader) openly(declared bool, do func()) {
	weight := r.weight
	if declared {
		r.weight *= 0.4
	}
	do()
	r.weight = weight
}

func addWord(words []value, v value, glued bool) []value {
	if glued && len(words) > 0 {
		words[len(words)-1] = join(words[len(words)-1], v)
		return words
	}
	return append(words, v)
}

// pipedCommand: a shell that a connection is handed to.
func (r *plainReader) pipedCommand(m *plainMeaning, command value) {
	if m.conn.callee == plainConnection && shellBinary.MatchString(strings.TrimSpace(command.text)) {
		r.report(bReverseShell, m.line, 0.85, "")
	}
}

var openMode = regexp.MustCompile(`^(\+?[<>]?>{1,2}\S*|[wax]b?\+?|[wax]\+?b?|r\+b?)$`)

// opensToWrite reads the mode that a file is opened with.
func (m *plainMeaning) opensToWrite() bool {
	return slices.ContainsFunc(m.parts, func(p value) bool { return openMode.MatchString(p.text) || strings.HasPrefix(p.text, ">") })
}

const maxPlainPaths = 50 // that one statement writes to

func (r *plainReader) write(m *plainMeaning) {
	content := value{taint: m.data.taint, names: m.data.names, text: m.data.text}
	written := map[string]bool{}
	for _, part := range m.parts {
		for path := range strings.FieldsSeq(plainPath(part.text)) {
			if !pathLike(path) || strings.LastIndexByte(path, '~') > 0 || !strings.ContainsAny(path, "/.~") || written[path] || len(written) >= maxPlainPaths {
				continue
			}
			written[path] = true
			r.openly(anyCovers(CapWrite, r.allowed.Filesystem.Write, path), func() { r.writes(m.line, value{text: path}, content) })
		}
	}
}

// remove deletes; whether recursively is told by the name of the call or by a flag.
func (r *plainReader) remove(m *plainMeaning, tokens []plainToken) {
	recursive := slices.ContainsFunc(tokens, func(t plainToken) bool {
		word := strings.ToLower(t.text)
		return t.kind != 's' && (strings.Contains(word, "rm_r") || strings.Contains(word, "tree") || strings.HasPrefix(word, "recurs") || strings.HasSuffix(word, "removeall") || strings.HasSuffix(word, "dir_all")) || t.kind == 's' && word == "rf"
	})
	if m.data.taint&fromHomeWalk != 0 {
		r.deletes(m.line, value{taint: fromHomeWalk}, recursive)
		return
	}
	for _, part := range m.parts {
		if path := plainPath(part.text); path == "~" || pathLike(path) || wholeTree.MatchString(path) {
			r.deletes(m.line, value{text: path, taint: part.taint & fromHomeWalk}, recursive)
		}
	}
}

var windowsRun = regexp.MustCompile(`(?i)currentversion.{1,2}run\b|start menu.{1,2}programs.{1,2}startup|\bregister-scheduledtask\b|\bschtasks(?:\.exe)?["', ]+/create|__eventfilter|commandlineeventconsumer`)

// windows recognises the places that Windows starts programs from.
func (r *plainReader) windows(m *plainMeaning) {
	source := r.lineText(m.line)
	if len(source) < 2000 && (m.effect&(plWrite|plRun) != 0 || strings.HasPrefix(strings.ToLower(strings.TrimSpace(source)), "register-")) && windowsRun.MatchString(source) {
		r.report(bPersist, m.line, 0.8, "")
	}
}
