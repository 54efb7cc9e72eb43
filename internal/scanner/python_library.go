package scanner

import (
	"regexp"
	"strings"
)

var (
	pyHTTP    = regexp.MustCompile(`^(requests|httpx|aiohttp|urllib3|niquests|pycurl|curl_cffi)\b.*\.(get|post|put|patch|delete|head|request|stream|urlopen)$`)
	pyUpload  = regexp.MustCompile(`\.(post|put|patch|request|stream)$`)
	pyOpenURL = regexp.MustCompile(`^(urllib\.request\.|urllib2\.|urllib\.)(urlopen|urlretrieve)$|^(urllib\.request\.build_opener)\.open$|^wget\.download$`)
	pyExec    = regexp.MustCompile(`^(os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile)|subprocess\.(run|call|Popen|check_call|check_output|getoutput|getstatusoutput)|commands\.getoutput|asyncio\.(create_subprocess_(shell|exec)|subprocess\..*)|pexpect\.(spawn|run)|plumbum\..*|sh\.\w+|invoke\.run|fabric\..*run)$`)
	pyDecode  = regexp.MustCompile(`^(base64\.\w*decode\w*|binascii\.(unhexlify|a2b_\w+)|bytes\.fromhex|bytearray\.fromhex|zlib\.decompress|gzip\.decompress|bz2\.decompress|lzma\.decompress|marshal\.loads?|codecs\.decode|chr)$|\.fromhex$|Fernet\.decrypt$`)
	pyWalk    = regexp.MustCompile(`^(os\.(walk|listdir|scandir)|glob\.i?glob|pathlib\.Path\S*\.(glob|rglob|iterdir|walk))$|\.(rglob|iterdir)$`)
	pyHost    = regexp.MustCompile(`^(socket\.(gethostname|getfqdn)|platform\.(node|uname|platform)|getpass\.getuser|os\.(getlogin|uname)|uuid\.getnode|psutil\.(users|net_if_addrs))$`)
	pyCapture = regexp.MustCompile(`^(pyperclip\.paste|PIL\.ImageGrab\.grab\w*|ImageGrab\.grab\w*|pyautogui\.screenshot|mss\.mss\S*|cv2\.VideoCapture\S*|sounddevice\.rec|pynput\.\S+|keyboard\.(read_\w+|record|on_press|hook)|win32clipboard\.GetClipboardData|tkinter\.Tk\.clipboard_get)$`)
	pyVault   = regexp.MustCompile(`^(browser_cookie3\.\w+|win32crypt\.CryptUnprotectData|browsercookie\.\w+|secretstorage\.\S+)$`)
	pyLoad    = regexp.MustCompile(`^(c?[pP]ickle|dill|cloudpickle|joblib|shelve|torch|jsonpickle)\.(loads?|decode|open)$|^yaml\.(unsafe_load|load|full_load)$`)
	pyMail    = regexp.MustCompile(`^smtplib\.\S+\.(sendmail|send_message)$|^ftplib\.\S+\.(storbinary|storlines)$|^paramiko\.\S+\.(put|open_sftp\.put)$|^telnetlib\.\S+\.write$`)
	setuidBit = regexp.MustCompile(`S_IS[UG]ID|0o?[246]7\d\d`)
)

// pythonLibrary gives the effect and the result of calls whose meaning is known.
func pythonLibrary(in *interpreter, c call) (value, bool) {
	for _, try := range []func(*interpreter, call) (value, bool){pythonNetwork, pythonProcess, pythonFiles, pythonSources, pythonText} {
		if out, ok := try(in, c); ok {
			return out, true
		}
	}
	return value{}, false
}

func pythonProcess(in *interpreter, c call) (value, bool) {
	switch {
	case pyExec.MatchString(c.name):
		command := commandLine(c.argument(0, "args", "command", "cmd"))
		if strings.HasPrefix(c.name, "os.exec") || strings.HasPrefix(c.name, "os.spawn") || strings.HasSuffix(c.name, "subprocess_exec") {
			command = join(spaced(c.args)...)
		}
		return in.runs(c.line, command), true
	case c.name == "eval" || c.name == "exec" || c.name == "builtins.eval" || c.name == "builtins.exec" || c.name == "code.interact" || c.name == "runpy.run_path":
		code := c.argument(0)
		in.evaluates(c.line, code)
		if code.taint&fromNetwork == 0 && code.text != "" {
			in.nestedProgram(c.line, code.text, pythonLanguage)
		}
		return value{taint: code.taint}, true
	case c.name == "types.FunctionType" || c.name == "types.CodeType":
		in.evaluates(c.line, c.argument(0))
		return value{taint: c.argument(0).taint}, true
	case c.name == "compile":
		out := c.argument(0)
		out.callee = ""
		if out.taint&fromDecoding != 0 {
			in.evaluates(c.line, out)
		}
		return out, true
	case c.name == "__import__" || c.name == "importlib.import_module" || c.name == "builtins.__import__":
		name := c.argument(0)
		out := value{callee: name.text, taint: fromDecoding}
		if c.name == "importlib.import_module" && plainArgument(c.node) {
			out.taint = 0
		}
		return out, true
	case c.name == "getattr":
		object, name := c.argument(0), c.argument(1)
		out := value{callee: strings.TrimPrefix(object.callee+"."+name.text, "."), taint: object.taint}
		if object.callee == "__builtins__" || object.callee == "builtins" {
			out.callee = name.text
		}
		if name.text != "" && !strings.Contains(name.text, unknownText) {
			out.taint |= fromDecoding
		} else if name.taint&fromDecoding != 0 && powerfulModules[object.callee] {
			in.report(bHiddenName, c.line, 0.8, object.callee)
		}
		return out, true
	case c.name == "os.setuid" || c.name == "os.seteuid" || c.name == "os.setgid":
		in.report(bRaiseRights, c.line, 0.65, "")
		return value{}, true
	case c.name == "os.chmod" || strings.HasSuffix(c.name, ".chmod"):
		if setuidBit.MatchString(c.node.source()) {
			in.report(bRaiseRights, c.line, 0.82, "")
		}
		return value{}, true
	case pyLoad.MatchString(c.name):
		data := c.argument(0)
		if data.taint&(fromNetwork|fromDecoding) != 0 && !strings.Contains(c.node.source(), "SafeLoader") && !strings.Contains(c.node.source(), "weights_only=True") {
			in.report(bUnsafeLoad, c.line, 0.78, c.name)
		}
		return data.tainted(0), true
	}
	return value{}, false
}

// powerfulModules hold functions that run things.
var powerfulModules = wordSet("os subprocess builtins __builtins__ sys posix nt ctypes importlib shutil")

// plainArgument reports a call whose first argument is a plain string.
func plainArgument(n *node) bool {
	args := n.get("arguments").inner()
	return len(args) > 0 && args[0].kind == "string"
}

func pythonFiles(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case c.name == "open" || c.name == "io.open" || c.name == "codecs.open" || c.name == "aiofiles.open" || c.name == "builtins.open" || last == "open" && strings.HasPrefix(c.receiver.callee, "pathlib"):
		return in.pythonOpen(c), true
	case last == "read_text" || last == "read_bytes":
		return in.reads(c.line, c.receiver), true
	case last == "write_text" || last == "write_bytes":
		in.writes(c.line, c.receiver, c.argument(0))
		return value{}, true
	case (last == "write" || last == "writelines") && c.receiver.callee == "open":
		in.writes(c.line, c.receiver.fields["path"], c.argument(0))
		return value{}, true
	case c.name == "shutil.rmtree" || c.name == "os.removedirs" || c.name == "send2trash.send2trash":
		in.deletes(c.line, c.argument(0), true)
		return value{}, true
	case c.name == "os.remove" || c.name == "os.unlink" || last == "unlink":
		target := c.argument(0)
		if last == "unlink" && target.text == "" && target.taint == 0 {
			target = c.receiver
		}
		if strings.Contains(c.node.source(), "__file__") || strings.Contains(c.node.source(), "sys.argv[0]") {
			in.report(bCoverTracks, c.line, 0.72, "")
		}
		in.deletes(c.line, target, false)
		return value{}, true
	case c.name == "shutil.copy" || c.name == "shutil.copyfile" || c.name == "shutil.copy2" || c.name == "shutil.move" || c.name == "os.rename" || c.name == "shutil.copytree" || c.name == "os.replace":
		in.writes(c.line, c.argument(1, "dst"), in.reads(c.line, c.argument(0, "src")))
		return value{}, true
	case c.name == "shutil.make_archive":
		return in.pythonArchive(c), true
	case strings.HasPrefix(c.name, "zipfile.ZipFile") && last == "write" || strings.HasPrefix(c.name, "tarfile.") && last == "add":
		in.pythonArchived(c)
		return value{}, true
	case c.name == "zipfile.ZipFile" || c.name == "tarfile.open":
		out := c.argument(0, "name", "file")
		out.callee = c.name
		out.fields = map[string]value{"buffer": constant(archiveBuffer(c.node))}
		return out, true
	case c.name == "sqlite3.connect":
		return in.reads(c.line, c.argument(0)), true
	case pyWalk.MatchString(c.name):
		root := c.argument(0)
		if root.text == "" || strings.HasPrefix(c.name, "pathlib") || last == "rglob" || last == "iterdir" {
			root = join(c.receiver, constant("/"), root)
		}
		return walkOf(root), true
	case c.name == "winreg.SetValueEx" || c.name == "winreg.OpenKey" || c.name == "winreg.CreateKey":
		if strings.Contains(strings.ToLower(c.all().text), `currentversion\run`) {
			in.report(bPersist, c.line, 0.85, "")
		}
		return value{}, true
	}
	return value{}, false
}

// walkOf is what a search below root yields.
func walkOf(root value) value {
	out := value{taint: root.taint | fromWalk, names: root.names}
	text := root.text
	if homePath.MatchString(text) || text == "/" || strings.HasPrefix(text, "//") {
		out.taint |= fromHomeWalk
		out.names = appendNames(out.names, []string{text})
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '\n' }) {
		if classifyPath(strings.TrimSuffix(part, "/*")) == pathSecret {
			out.taint |= fromSecretFile
			out.text = part
		}
	}
	return out
}

func (in *interpreter) pythonOpen(c call) value {
	path, mode := c.argument(0, "file"), c.argument(1, "mode").text
	if lastName(c.name) == "open" && strings.HasPrefix(c.receiver.callee, "pathlib") {
		path, mode = c.receiver, c.argument(0, "mode").text
	}
	out := value{callee: "open", fields: map[string]value{"path": path}}
	if strings.ContainsAny(mode, "wax+") {
		in.writes(c.line, path, value{})
		if path.taint&fromHomeWalk != 0 && strings.Contains(mode, "w") {
			in.report(bEncryptFiles, c.line, 0.66, "overwrites files below the home folder")
		}
	}
	if !strings.ContainsAny(mode, "wax") {
		content := in.reads(c.line, path)
		out.taint, out.names, out.text = content.taint, content.names, content.text
	}
	return out
}

// pythonArchived puts a file or folder into an archive, on disk or in memory.
func (in *interpreter) pythonArchived(c call) {
	content := in.reads(c.line, c.argument(0, "name", "filename"))
	content.text = ""
	if root := walkOf(c.argument(0, "name")); lastName(c.name) == "add" || root.taint&fromHomeWalk != 0 {
		content.taint |= root.taint | fromWalk
	}
	in.files[c.receiver.text] = merge(in.files[c.receiver.text], content)
	if buffer := c.receiver.fields["buffer"].text; buffer != "" {
		old, _ := in.lookup(buffer)
		in.set(buffer, merge(value{taint: content.taint, names: content.names}, old))
	}
}

// archiveBuffer is the variable that an archive is written into.
func archiveBuffer(n *node) string {
	for _, a := range n.get("arguments").inner() {
		if a.kind == "keyword_argument" && a.get("name").source() == "fileobj" && a.get("value").kind == "identifier" {
			return a.get("value").text
		}
	}
	if args := n.get("arguments").inner(); len(args) > 0 && args[0].kind == "identifier" {
		return args[0].text
	}
	return ""
}

func (in *interpreter) pythonArchive(c call) value {
	root := walkOf(c.argument(2, "root_dir"))
	root.taint |= fromFile
	name := c.argument(0, "base_name")
	in.files[name.text+"."+c.argument(1, "format").text] = root
	in.files[name.text] = root
	return value{taint: root.taint, names: root.names, text: name.text}
}

func pythonSources(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case c.name == "os.getenv" || c.name == "os.environ.get" || c.name == "os.environ.pop" || c.name == "os.environ.setdefault" || c.name == "environ.get":
		if name := c.argument(0).text; name != "" {
			return in.variable(c.line, name), true
		}
		return value{taint: fromVariable}, true
	case strings.HasPrefix(c.name, "os.environ."):
		return value{taint: fromAllEnv, names: []string{"environment"}}, true
	case pyHost.MatchString(c.name):
		return value{taint: fromHost, names: []string{lastName(c.name)}}, true
	case pyCapture.MatchString(c.name):
		captured := value{taint: fromCapture, names: []string{c.name}, callee: c.name}
		for _, a := range append(c.args, c.named["on_press"], c.named["callback"]) {
			if a.fn != nil {
				in.invoke(a.fn, call{args: []value{captured, captured}, line: c.line})
			}
		}
		return captured, true
	case pyVault.MatchString(c.name):
		in.report(bReadSecret, c.line, 0.85, c.name)
		return value{taint: fromSecretFile, names: []string{c.name}}, true
	case c.name == "keyring.get_password":
		return value{taint: fromSecretVar, names: []string{"KEYRING_PASSWORD"}}, true
	case c.name == "input" || c.name == "getpass.getpass":
		return value{taint: fromInput}, true
	case last == "encrypt" && c.argument(0).taint&(fromHomeWalk|fromWalk) != 0:
		confidence := 0.68
		if c.argument(0).taint&fromHomeWalk != 0 {
			confidence = 0.88
		}
		in.report(bEncryptFiles, c.line, confidence, "")
		return c.argument(0).tainted(0), true
	}
	return value{}, false
}

func pythonText(in *interpreter, c call) (value, bool) {
	last := lastName(c.name)
	switch {
	case pyDecode.MatchString(c.name):
		return pythonDecoded(c), true
	case c.name == "os.path.expanduser" || c.name == "os.path.expandvars" || c.name == "os.path.abspath" || c.name == "os.path.realpath" || c.name == "str" || c.name == "os.fspath" || c.name == "shlex.quote" || c.name == "bytes" || c.name == "shlex.split":
		out := c.argument(0)
		out.callee, out.list = "", nil
		return out, true
	case c.name == "os.path.join":
		return join(interleave(c.args, "/")...), true
	case c.name == "pathlib.Path.home" || c.name == "Path.home":
		return value{text: "~", callee: "pathlib.Path"}, true
	case c.name == "pathlib.Path" || c.name == "pathlib.PurePath" || c.name == "pathlib.PosixPath" || last == "joinpath":
		parts := c.args
		if last == "joinpath" {
			parts = append([]value{c.receiver}, parts...)
		}
		out := join(interleave(parts, "/")...)
		out.callee = "pathlib.Path"
		return out, true
	case last == "expanduser" || last == "resolve" || last == "absolute" || last == "decode" || last == "encode" || last == "strip" || last == "rstrip" || last == "lower" || last == "as_posix":
		out := c.receiver
		if codec := c.argument(0).text; last == "decode" && (strings.Contains(codec, "rot") || codec == "hex" || codec == "base64") {
			out = c.receiver.tainted(fromDecoding)
		}
		out.list = nil
		return out, true
	case last == "format":
		out := join(append([]value{c.receiver}, c.args...)...)
		out.text = c.receiver.text
		for _, a := range c.args {
			out.text = strings.Replace(out.text, "{}", a.text+unknownIfEmpty(a), 1)
		}
		for _, a := range c.named {
			out.taint |= a.taint
			out.names = appendNames(out.names, a.names)
		}
		return out, true
	case last == "join" && c.receiver.callee == "":
		items := c.argument(0)
		if len(items.list) > 0 {
			out := join(interleave(items.list, c.receiver.text)...)
			return out, true
		}
		return items, true
	case last == "replace":
		out := join(append([]value{c.receiver}, c.args...)...)
		out.text = strings.ReplaceAll(c.receiver.text, c.argument(0).text, c.argument(1).text)
		return out, true
	case last == "append" || last == "extend" || last == "update" || last == "add" || last == "insert" || last == "put" || last == "writestr":
		in.mutate(c)
		return value{}, true
	}
	return value{}, false
}

// mutate lets a container take on the origin of what is put into it.
func (in *interpreter) mutate(c call) {
	fn := c.node.get("function")
	object := firstOf(fn.get("object"), fn)
	all := c.all()
	if object.kind == "identifier" && all.taint != 0 {
		old, _ := in.lookup(object.text)
		in.change(object.text, value{taint: all.taint | old.taint, names: appendNames(old.names, all.names), callee: old.callee, text: old.text})
	}
}

func interleave(parts []value, separator string) []value {
	out := make([]value, 0, 2*len(parts))
	for i, p := range parts {
		if i > 0 && separator != "" {
			out = append(out, constant(separator))
		}
		out = append(out, p)
	}
	return out
}

func pythonDecoded(c call) value {
	in := c.argument(0)
	if in.text == "" && in.taint == 0 {
		in = c.receiver
	}
	out := in.tainted(fromDecoding)
	switch {
	case strings.HasPrefix(c.name, "base64.b64") || strings.HasPrefix(c.name, "base64.urlsafe") || strings.HasPrefix(c.name, "base64.standard") || strings.HasSuffix(c.name, "a2b_base64"):
		out.text = fromBase64(in.text)
	case strings.HasSuffix(c.name, "hex") || strings.HasSuffix(c.name, "unhexlify"):
		out.text = fromHex(in.text)
	case c.name == "codecs.decode" && strings.Contains(c.argument(1, "encoding").text, "rot"):
		out.text = strings.Map(rot13, in.text)
	}
	if !readable(out.text) && len(out.text) > 0 && !printableWord(out.text) {
		out.text = ""
	}
	return out
}

func printableWord(s string) bool {
	for _, r := range s {
		if r < 0x20 || r > 0x7e {
			return false
		}
	}
	return true
}
