package scanner

import (
	"regexp"
	"strings"
)

var (
	jsFetch  = regexp.MustCompile(`^(fetch|axios|got|ky|undici\.(fetch|request)|node-fetch|node-fetch\.default|superagent|needle|request|phin|\$\.(ajax|get|post)|jQuery\.(ajax|get|post)|cross-fetch|isomorphic-fetch)$|^(axios|got|ky|superagent|needle|request|http|https)(\.\w+)*\.(get|post|put|patch|request|delete|head|create)$|^navigator\.sendBeacon$|^XMLHttpRequest\.open$|\.sendBeacon$`)
	jsExec   = regexp.MustCompile(`^(child_process|execa|shelljs|zx|cross-spawn|Bun|Deno)(\.(exec|execSync|spawn|spawnSync|execFile|execFileSync|fork|execa|execaSync|execaCommand|command|run|Command|\$))?$`)
	jsRead   = regexp.MustCompile(`^(fs(/promises|\.promises)?|fs-extra|graceful-fs|Deno|Bun)\.(readFile|readFileSync|createReadStream|readTextFile|readTextFileSync|file|readJson|readJsonSync|open|openSync)$`)
	jsWrite  = regexp.MustCompile(`^(fs(/promises|\.promises)?|fs-extra|graceful-fs|Deno|Bun)\.(writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|writeTextFile|outputFile|outputFileSync|write)$`)
	jsCopy   = regexp.MustCompile(`^(fs(/promises|\.promises)?|fs-extra)\.(copyFile|copyFileSync|rename|renameSync|cp|cpSync|copy|move|symlink|symlinkSync)$`)
	jsRemove = regexp.MustCompile(`^(fs(/promises|\.promises)?|fs-extra|rimraf|del|Deno)(\.(rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|remove|removeSync|sync))?$`)
	jsWalk   = regexp.MustCompile(`^(fs(/promises|\.promises)?|fs-extra)\.(readdir|readdirSync|opendir|opendirSync)$|^(glob|fast-glob|globby)(\.(sync|glob|globSync))?$`)
	jsDecode = regexp.MustCompile(`^(atob|unescape|String\.fromCharCode|String\.fromCodePoint|zlib\.(inflate|gunzip|unzip|brotliDecompress)\w*|crypto\.createDecipher\w*)$`)
	jsEval   = regexp.MustCompile(`^(eval|Function|vm\.(runInThisContext|runInNewContext|runInContext|Script|compileFunction)|setTimeout|setInterval|\S*\.constructor\.constructor|execScript|require\.main\._compile|Module\._compile|module\._compile)$|\._compile$`)
	jsHost   = regexp.MustCompile(`^os\.(hostname|userInfo|networkInterfaces)$`)
	jsPage   = regexp.MustCompile(`^document\.(querySelector(All)?|getElement(s)?By\w+|evaluate|getSelection)$|^(window\.)?getSelection$|^FormData$`)
	jsClip   = regexp.MustCompile(`^(navigator\.clipboard\.read\w*|clipboardy\.read\w*|clipboard\.read\w*|screenshot-desktop|robotjs\.\S+|navigator\.mediaDevices\.\w+|electron\.clipboard\.\w+)$`)
)

// javascriptLibrary gives the effect and the result of calls whose meaning is known.
func javascriptLibrary(in *interpreter, c call) (value, bool) {
	for _, try := range []func(*interpreter, call) (value, bool){javascriptNetwork, javascriptProcess, javascriptFiles, javascriptText} {
		if out, ok := try(in, c); ok {
			return out, true
		}
	}
	return value{}, false
}

func javascriptNetwork(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case jsFetch.MatchString(c.name):
		return in.javascriptFetch(c, last), true
	case c.name == "WebSocket" || c.name == "ws" || c.name == "ws.WebSocket" || c.name == "EventSource" || c.name == "socket.io-client" || c.name == "importScripts":
		out := in.network(c.line, c.argument(0), value{}, value{}, false)
		out.callee = "WebSocket"
		return out, true
	case c.name == "WebSocket.send" || strings.HasPrefix(c.name, "net.") && (last == "write" || last == "end") || strings.HasPrefix(c.name, "https.request.") && (last == "write" || last == "end") || strings.HasPrefix(c.name, "http.request.") && (last == "write" || last == "end") || c.name == "XMLHttpRequest.send":
		body := c.all()
		in.leak(c.line, hostLike(c.receiver.fields["address"].text), body.taint&^(fromVariable|fromNetwork), value{}, body, value{}, true)
		return value{}, true
	case c.name == "net.connect" || c.name == "net.createConnection" || c.name == "net.Socket" || c.name == "net.Socket.connect" || c.name == "tls.connect":
		return in.javascriptSocket(c), true
	case strings.HasPrefix(c.name, "dns.") && (strings.HasPrefix(last, "resolve") || last == "lookup"):
		if c.argument(0).taint&(sensitive|fromFile|fromHost|fromCommand|fromSecretVar|fromDecoding) != 0 {
			in.report(bExfilDNS, c.line, 0.85, "")
		}
		return value{taint: fromNetwork}, true
	case last == "pipe" && (c.argument(0).callee == "child_process.stdin" || strings.Contains(c.argument(0).callee, ".stdin")):
		in.report(bReverseShell, c.line, 0.85, "")
		return value{}, true
	}
	return value{}, false
}

func (in *interpreter) javascriptFetch(c call, last string) value {
	address, options := c.argument(0), c.argument(1)
	if c.name == "XMLHttpRequest.open" {
		address, options = c.argument(1), value{}
	}
	for _, key := range []string{"url", "hostname", "host", "uri"} {
		if v, ok := address.fields[key]; ok {
			options, address = address, v
			break
		}
	}
	body := join(options.fields["body"], options.fields["data"], options.fields["json"], options.fields["form"], options.fields["params"], options.fields["searchParams"])
	header := join(options.fields["headers"], options.fields["auth"])
	uploads := body.taint != 0 || body.text != ""
	if last == "post" || last == "put" || last == "patch" || last == "sendBeacon" {
		// These take the body itself as second argument and options as third.
		body = join(body, value{taint: options.taint &^ header.taint, names: options.names})
		if len(options.fields) == 0 || last != "post" || options.fields["headers"].names == nil {
			body = join(body, value{taint: options.taint, names: options.names})
		}
		header = join(header, c.argument(2).fields["headers"])
		uploads = true
	}
	if options.fn != nil {
		in.invoke(options.fn, call{args: []value{{taint: fromNetwork}}, line: c.line})
	}
	if third := c.argument(2); third.fn != nil {
		in.invoke(third.fn, call{args: []value{{taint: fromNetwork}}, line: c.line})
	}
	out := in.network(c.line, address, body, header, uploads)
	out.callee = c.name
	out.fields = map[string]value{"address": {text: address.text}}
	return out
}

func (in *interpreter) javascriptSocket(c call) value {
	for _, a := range c.args {
		if host, ok := a.fields["host"]; ok {
			in.peer(c.line, hostLike(host.text), host)
		} else if hostLike(a.text) != "" {
			in.peer(c.line, hostLike(a.text), a)
		}
	}
	in.callbacks(c)
	return value{callee: "net.Socket", taint: fromNetwork}
}

func javascriptProcess(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case jsExec.MatchString(c.name):
		command := c.argument(0)
		if args := c.argument(1); len(args.list) > 0 {
			command = join(append([]value{command, constant(" ")}, spaced(args.list)...)...)
		} else if len(command.list) > 0 {
			command = commandLine(command)
		}
		out := in.runs(c.line, command)
		for _, a := range c.args {
			if a.fn != nil {
				in.invoke(a.fn, call{args: []value{{}, out, out}, line: c.line})
			}
		}
		out.callee = "child_process"
		return out, true
	case jsEval.MatchString(c.name):
		return in.javascriptEval(c), true
	case c.name == "require" || c.name == "import" || c.name == "module.require" || c.name == "process.mainModule.require":
		name := c.argument(0)
		module := moduleName(name.text)
		out := value{callee: module}
		if !plainArgument(c.node) && name.text != "" {
			out.taint = fromDecoding
		}
		in.importJavaScript(module, c.line)
		return out, true
	case c.name == "process.setuid" || c.name == "process.seteuid":
		in.report(bRaiseRights, c.line, 0.7, "")
		return value{}, true
	case c.name == "process.binding":
		in.report(bHiddenName, c.line, 0.65, "process.binding")
		return value{}, true
	case last == "deserialize" || c.name == "node-serialize.unserialize":
		if c.argument(0).taint&(fromNetwork|fromDecoding) != 0 {
			in.report(bUnsafeLoad, c.line, 0.75, "")
		}
		return c.argument(0).tainted(0), true
	}
	return value{}, false
}

func (in *interpreter) javascriptEval(c call) value {
	if c.name == "setTimeout" || c.name == "setInterval" {
		in.callbacks(c)
		if c.argument(0).fn != nil || c.argument(0).text == "" {
			return value{}
		}
	}
	code := c.argument(max(0, len(c.args)-1))
	if lastName(c.name) != "Function" && lastName(c.name) != "constructor" {
		code = c.argument(0)
	}
	in.evaluates(c.line, code)
	if code.taint&fromNetwork == 0 && code.text != "" {
		in.nestedProgram(c.line, code.text, javascriptLanguage)
	}
	if strings.HasSuffix(c.name, "constructor.constructor") {
		in.report(bHiddenName, c.line, 0.82, "constructor")
	}
	return value{taint: code.taint}
}

func javascriptFiles(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case jsRead.MatchString(c.name):
		out := in.reads(c.line, c.argument(0))
		for _, a := range c.args {
			if a.fn != nil {
				in.invoke(a.fn, call{args: []value{{}, out}, line: c.line})
			}
		}
		return out, true
	case jsWrite.MatchString(c.name):
		in.writes(c.line, c.argument(0), c.argument(1))
		if c.argument(0).taint&fromHomeWalk != 0 {
			in.report(bEncryptFiles, c.line, 0.66, "overwrites files below the home folder")
		}
		return value{callee: "stream", text: c.argument(0).text}, true
	case last == "pipe" && c.argument(0).callee == "stream":
		in.writes(c.line, constant(c.argument(0).text), c.receiver)
		return value{}, true
	case jsCopy.MatchString(c.name):
		in.writes(c.line, c.argument(1), in.reads(c.line, c.argument(0)))
		return value{}, true
	case jsRemove.MatchString(c.name):
		if target := c.node.get("arguments").source(); strings.Contains(target, "__filename") {
			in.report(bCoverTracks, c.line, 0.75, "")
		}
		in.deletes(c.line, c.argument(0), strings.Contains(c.node.source(), "recursive") || strings.HasPrefix(c.name, "rimraf") || last == "remove" || last == "removeSync")
		return value{}, true
	case jsWalk.MatchString(c.name):
		out := walkOf(c.argument(0))
		for _, a := range c.args {
			if a.fn != nil {
				in.invoke(a.fn, call{args: []value{{}, out}, line: c.line})
			}
		}
		return out, true
	case last == "chmodSync" || last == "chmod":
		if setuidBit.MatchString(c.node.source()) {
			in.report(bRaiseRights, c.line, 0.82, "")
		}
		return value{}, true
	}
	return value{}, false
}

func javascriptText(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case c.name == "Buffer.from" || c.name == "Buffer":
		return javascriptBuffer(c), true
	case jsDecode.MatchString(c.name):
		out := c.argument(0).tainted(fromDecoding)
		if c.name == "atob" {
			out.text = fromBase64(c.argument(0).text)
		}
		return out, true
	case c.name == "os.homedir" || c.name == "require.os.homedir":
		return constant("~"), true
	case jsHost.MatchString(c.name):
		return value{taint: fromHost, names: []string{c.name}}, true
	case jsPage.MatchString(c.name):
		return value{taint: fromPage, callee: "page"}, true
	case jsClip.MatchString(c.name):
		return value{taint: fromCapture, names: []string{c.name}}, true
	case c.name == "Deno.env.get" || c.name == "Bun.env.get":
		return in.variable(c.line, c.argument(0).text), true
	case c.name == "Deno.env.toObject":
		return value{taint: fromAllEnv, names: []string{"environment"}}, true
	case c.name == "path.join" || c.name == "path.resolve":
		return join(interleave(c.args, "/")...), true
	case c.name == "JSON.stringify" || c.name == "String" || c.name == "encodeURIComponent" || c.name == "btoa" || c.name == "Object.entries" || c.name == "Object.keys" || c.name == "Object.assign" || c.name == "JSON.parse" || c.name == "Promise.all" || c.name == "Array.from" || c.name == "URLSearchParams":
		all := c.all()
		all.list, all.callee = nil, ""
		return all, true
	case last == "toString" || last == "trim" || last == "toLowerCase" || last == "concat":
		out := join(append([]value{c.receiver}, c.args...)...)
		if last != "concat" {
			out.text = c.receiver.text
		}
		return out, true
	case last == "reverse":
		out := c.receiver.tainted(fromDecoding)
		out.text = reverse(strings.ReplaceAll(c.receiver.text, " ", ""))
		return out, true
	case last == "join" && c.receiver.callee == "":
		if len(c.receiver.list) > 0 {
			return join(interleave(c.receiver.list, c.argument(0).text)...), true
		}
		return c.receiver, true
	case last == "split" || last == "slice" || last == "replace" || last == "replaceAll":
		out := c.receiver
		out.list = nil
		return out, true
	case last == "push" || last == "append" || last == "set" || last == "unshift" || last == "add" || last == "file":
		in.mutate(c)
		return value{}, true
	}
	return value{}, false
}

func javascriptBuffer(c call) value {
	source := c.argument(0)
	switch strings.ToLower(c.argument(1).text) {
	case "base64", "base64url":
		out := source.tainted(fromDecoding)
		out.text = fromBase64(source.text)
		return out
	case "hex":
		out := source.tainted(fromDecoding)
		out.text = fromHex(source.text)
		return out
	}
	if len(source.list) > 8 {
		return source.tainted(fromDecoding)
	}
	out := source
	out.list, out.callee = nil, ""
	return out
}
