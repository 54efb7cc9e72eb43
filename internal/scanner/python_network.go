package scanner

import (
	"regexp"
	"strings"
)

func pythonNetwork(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case c.name == "urllib.request.Request":
		body, header := c.argument(1, "data"), c.argument(2, "headers")
		out := c.argument(0, "url")
		out.callee, out.fields = c.name, map[string]value{"body": body, "header": header}
		return out, true
	case strings.HasSuffix(c.name, "Request.add_header"):
		return value{}, true
	case pyOpenURL.MatchString(c.name):
		return in.pythonOpenURL(c), true
	case pyClient.MatchString(c.name):
		return value{callee: c.name, text: c.argument(0, "base_url", "host").text, taint: c.argument(0, "base_url", "host").taint & fromDecoding}, true
	case pyPlainHTTP.MatchString(c.name):
		return in.pythonConnection(c, last), true
	case pyHTTP.MatchString(c.name):
		return in.pythonHTTP(c), true
	case pyMail.MatchString(c.name):
		return in.network(c.line, value{text: hostLike(c.receiver.text)}, c.all(), value{}, true), true
	case strings.HasPrefix(c.name, "smtplib.SMTP") && last == "login":
		return value{}, true
	case strings.HasPrefix(c.name, "socket.socket"):
		return in.pythonSocket(c, last)
	case c.name == "socket.create_connection":
		return value{callee: "socket.socket", text: join(c.argument(0).list...).text}, true
	case c.name == "socket.gethostbyname" || c.name == "socket.getaddrinfo" || strings.HasPrefix(c.name, "dns.resolver"):
		if c.argument(0).taint&(sensitive|fromFile|fromHost|fromCommand|fromSecretVar) != 0 {
			in.report(bExfilDNS, c.line, 0.85, "")
		}
		return value{taint: fromNetwork}, true
	case c.name == "os.dup2":
		in.report(bReverseShell, c.line, 0.75, "")
		return value{}, true
	case c.name == "pty.spawn":
		in.report(bReverseShell, c.line, 0.8, "")
		return value{}, true
	}
	return value{}, false
}

var (
	pyClient    = regexp.MustCompile(`^(http\.client\.HTTPS?Connection|httplib\.HTTPS?Connection|httpx\.(Async)?Client|aiohttp\.ClientSession)$`)
	pyPlainHTTP = regexp.MustCompile(`^(http\.client|httplib)\.HTTPS?Connection\.(request|send|endheaders|putheader|getresponse)$`)
)

// pythonConnection is http.client's request, whose host was given beforehand.
func (in *interpreter) pythonConnection(c call, last string) value {
	host := c.receiver.text
	if hostOf(host) == "" {
		host = "https://" + host
	}
	address := value{text: host, taint: c.receiver.taint}
	switch last {
	case "request":
		path, body, header := c.argument(1, "url"), c.argument(2, "body"), c.argument(3, "headers")
		address.text += path.text
		body = join(body, value{taint: (path.taint | header.taint) & (fromHost | fromFile | fromAllEnv), names: path.names})
		return in.network(c.line, address, body, value{taint: header.taint, names: header.names}, body.taint != 0 || body.text != "")
	case "send":
		return in.network(c.line, address, c.argument(0), value{}, true)
	}
	return value{taint: fromNetwork, callee: c.name}
}

func hostLike(text string) string {
	if host := hostOf(text); host != "" {
		return host
	}
	if bareHost.MatchString(text) {
		return text
	}
	return ""
}

func (in *interpreter) pythonOpenURL(c call) value {
	address := c.argument(0, "url")
	body, header := c.argument(-1, "data"), address.fields["header"]
	if request, ok := address.fields["body"]; ok {
		body = join(body, request)
	}
	if lastName(c.name) == "urlretrieve" || c.name == "wget.download" {
		out := in.network(c.line, address, value{}, header, false)
		in.writes(c.line, c.argument(1, "filename", "out"), out)
		return out
	}
	if len(c.args) > 1 {
		body = join(body, c.args[1])
	}
	return in.network(c.line, address, body, header, body.taint != 0 || body.text != "")
}

func (in *interpreter) pythonHTTP(c call) value {
	first := 0
	if last := lastName(c.name); last == "request" || last == "stream" {
		first = 1
	}
	address := c.argument(first, "url")
	if hostOf(address.text) == "" && hostOf(c.receiver.text) != "" {
		address.text = c.receiver.text + address.text
	}
	body := join(c.argument(-1, "data"), c.argument(-1, "json"), c.argument(-1, "files"), c.argument(-1, "content"), c.argument(first+1), c.argument(-1, "**"))
	query := c.argument(-1, "params")
	header := join(c.argument(-1, "headers"), c.argument(-1, "auth"), c.argument(-1, "cookies"))
	if !pyUpload.MatchString(c.name) {
		// What a GET carries in its query has left the machine all the same.
		body = query
		return in.network(c.line, address, body, header, body.taint&(sensitive|fromHost|fromFile|fromHomeWalk|fromCommand) != 0)
	}
	return in.network(c.line, address, join(body, query), header, true)
}

func (in *interpreter) pythonSocket(c call, last string) (value, bool) {
	switch last {
	case "connect", "connect_ex":
		host := ""
		if target := c.argument(0); len(target.list) > 0 {
			host = target.list[0].text
			in.peer(c.line, strings.ToLower(hostLike(host)), target.list[0])
		}
		return value{callee: "socket.socket", text: host}, true
	case "send", "sendall", "sendto":
		in.leak(c.line, "", c.all().taint&^(fromNetwork|fromVariable|fromInput), value{}, c.all(), value{}, true)
		return value{}, true
	case "recv", "recvfrom", "makefile":
		return value{taint: fromNetwork}, true
	}
	return value{callee: "socket.socket"}, true
}
