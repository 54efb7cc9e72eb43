package scanner

import "strings"

func (in *interpreter) pythonImport(n *node) {
	for _, c := range n.inner() {
		name, alias := c.text, ""
		if c.kind == "aliased_import" {
			name, alias = c.get("name").source(), c.get("alias").source()
		}
		in.importPython(name, in.line(n))
		if alias != "" {
			in.scope[alias] = value{callee: name}
		} else {
			top, _, _ := strings.Cut(name, ".")
			in.scope[top] = value{callee: top}
		}
	}
}

func (in *interpreter) pythonImportFrom(n *node) {
	module := n.get("module_name").source()
	in.importPython(module, in.line(n))
	for _, c := range n.children {
		if c.field != "name" {
			continue
		}
		name, alias := c.text, c.text
		if c.kind == "aliased_import" {
			name, alias = c.get("name").source(), c.get("alias").source()
		}
		if _, own := in.functions[alias]; !own || !strings.HasPrefix(module, ".") {
			in.scope[alias] = value{callee: module + "." + name}
		}
		if module == "os" && name == "environ" {
			in.scope[alias] = value{callee: "os.environ", taint: fromAllEnv, names: []string{"environment"}}
		}
	}
}

// importPython observes a package that the program needs from outside.
func (in *interpreter) importPython(module string, line int) {
	top, _, _ := strings.Cut(module, ".")
	if top == "" || pythonStandard[top] || strings.HasPrefix(module, ".") || in.v.isOwnModule(top) {
		return
	}
	for _, known := range []string{top, firstTwo(module)} {
		if name, ok := importedAs[known]; ok {
			top = name
		}
	}
	in.observe(CapPackage, packageName(top), line, false)
}

// firstTwo is the namespace and package of a module, as in google.auth.
func firstTwo(module string) string {
	parts := strings.SplitN(module, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// importedAs maps modules to the package that ships them under another name.
var importedAs = map[string]string{
	"bs4": "beautifulsoup4", "yaml": "pyyaml", "PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "docx": "python-docx", "pptx": "python-pptx", "dotenv": "python-dotenv",
	"dateutil": "python-dateutil", "fitz": "pymupdf", "git": "gitpython", "jwt": "pyjwt", "Crypto": "pycryptodome", "serial": "pyserial", "attr": "attrs", "google": "google-api-python-client", "magic": "python-magic",
	"googleapiclient": "google-api-python-client", "google.auth": "google-auth", "google.oauth2": "google-auth", "google.protobuf": "protobuf", "google.generativeai": "google-generativeai",
	"google.genai": "google-genai", "OpenSSL": "pyopenssl", "usb": "pyusb", "nacl": "pynacl", "telegram": "python-telegram-bot", "slugify": "python-slugify", "wx": "wxpython", "zmq": "pyzmq", "mpl_toolkits": "matplotlib",
}

// isOwnModule reports a module that is a file or folder of the bundle.
func (v *visit) isOwnModule(name string) bool {
	state := v.state.(*behavioralState)
	if state.modules == nil {
		state.modules = map[string]bool{}
		for _, f := range v.bundle.Files {
			for part := range strings.SplitSeq(f.Path, "/") {
				state.modules[strings.TrimSuffix(part, ".py")] = true
			}
		}
	}
	return state.modules[name]
}

var pythonStandard = wordSet(`__future__ abc argparse array ast asyncio atexit base64 binascii bisect builtins bz2 calendar cgi cmath cmd code codecs collections colorsys concurrent configparser contextlib copy
	csv ctypes curses dataclasses datetime dbm decimal difflib dis email enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob grp gzip hashlib heapq hmac
	html http imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers operator os pathlib pdb pickle pkgutil
	platform plistlib poplib posixpath pprint profile pty pwd queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3
	ssl stat statistics string struct subprocess sys sysconfig syslog tarfile tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty types typing unicodedata
	unittest urllib uuid venv warnings wave weakref webbrowser winreg xml xmlrpc zipfile zipimport zlib zoneinfo _thread`)
