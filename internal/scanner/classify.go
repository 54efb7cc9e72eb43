package scanner

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

type fileKind string

const (
	kindMarkdown   fileKind = "markdown"
	kindText       fileKind = "text"
	kindHTML       fileKind = "html"
	kindShell      fileKind = "shell"
	kindPython     fileKind = "python"
	kindJavaScript fileKind = "javascript"
	kindNotebook   fileKind = "notebook"
	kindCode       fileKind = "code" // a language without a parser here
	kindConfig     fileKind = "config"
	kindMedia      fileKind = "media"  // recognised, inert data
	kindBinary     fileKind = "binary" // opaque or executable
)

type fileRole string

const (
	roleMain      fileRole = "main"
	roleReference fileRole = "reference"
	roleScript    fileRole = "script"
	roleTest      fileRole = "test"
	roleExample   fileRole = "example"
	roleLicence   fileRole = "licence"
	roleVendored  fileRole = "vendored"
	roleLock      fileRole = "lock"
)

// fileInfo is what path and first bytes say about a file.
type fileInfo struct {
	kind   fileKind
	role   fileRole
	format string // magic of a binary or media file
}

func (i fileInfo) isText() bool { return i.kind != kindMedia && i.kind != kindBinary }
func (i fileInfo) isCode() bool {
	switch i.kind {
	case kindShell, kindPython, kindJavaScript, kindNotebook, kindCode:
		return true
	}
	return false
}

var kindByExt = map[string]fileKind{
	".md": kindMarkdown, ".markdown": kindMarkdown, ".mdx": kindMarkdown, ".mdc": kindMarkdown,
	".txt": kindText, ".rst": kindMarkdown, ".adoc": kindMarkdown, ".csv": kindText, ".tsv": kindText, ".log": kindText, ".srt": kindText,
	".html": kindHTML, ".htm": kindHTML, ".svg": kindHTML, ".xhtml": kindHTML,
	".sh": kindShell, ".bash": kindShell, ".zsh": kindShell, ".ksh": kindShell, ".command": kindShell, ".bats": kindShell,
	".py": kindPython, ".pyw": kindPython, ".pyi": kindPython, ".pth": kindPython,
	".js": kindJavaScript, ".mjs": kindJavaScript, ".cjs": kindJavaScript, ".jsx": kindJavaScript, ".ts": kindJavaScript, ".tsx": kindJavaScript, ".mts": kindJavaScript, ".cts": kindJavaScript,
	".ipynb": kindNotebook,
	".rb":    kindCode, ".pl": kindCode, ".php": kindCode, ".go": kindCode, ".rs": kindCode, ".java": kindCode, ".kt": kindCode, ".swift": kindCode, ".c": kindCode, ".h": kindCode,
	".cpp": kindCode, ".cs": kindCode, ".lua": kindCode, ".r": kindCode, ".jl": kindCode, ".ps1": kindCode, ".psm1": kindCode, ".bat": kindCode, ".cmd": kindCode, ".vbs": kindCode,
	".pm": kindCode, ".rake": kindCode, ".phtml": kindCode, ".exs": kindCode, ".groovy": kindCode, ".nim": kindCode, ".cr": kindCode, ".m": kindCode, ".vba": kindCode, ".bas": kindCode, ".jse": kindJavaScript, ".vbe": kindCode,
	".applescript": kindCode, ".fish": kindCode, ".sql": kindCode, ".tcl": kindCode, ".wsf": kindCode, ".hta": kindCode, ".dart": kindCode, ".scala": kindCode, ".ex": kindCode,
	".json": kindConfig, ".jsonc": kindConfig, ".yaml": kindConfig, ".yml": kindConfig, ".toml": kindConfig, ".ini": kindConfig, ".cfg": kindConfig, ".conf": kindConfig, ".xml": kindConfig,
	".plist": kindConfig, ".service": kindConfig, ".desktop": kindConfig, ".env": kindConfig, ".lock": kindConfig, ".properties": kindConfig, ".tf": kindConfig, ".gradle": kindConfig, ".mod": kindConfig,
}

var kindByName = map[string]fileKind{
	"makefile": kindConfig, "gnumakefile": kindConfig, "dockerfile": kindConfig, "containerfile": kindConfig, "justfile": kindConfig, "jenkinsfile": kindConfig, "pipfile": kindConfig,
	".env": kindConfig, ".npmrc": kindConfig, ".gitconfig": kindConfig, ".bashrc": kindShell, ".zshrc": kindShell, ".profile": kindShell, ".bash_profile": kindShell, ".envrc": kindShell,
	"rakefile": kindCode, "gemfile": kindCode, "vagrantfile": kindCode, "license": kindText, "licence": kindText, "copying": kindText, "notice": kindText,
}

// executableMagic and mediaMagic are the first bytes of formats by their specifications.
var executableMagic = []struct{ prefix, name string }{
	{"\x7fELF", "ELF executable"}, {"MZ", "Windows executable"}, {"\xcf\xfa\xed\xfe", "Mach-O executable"}, {"\xce\xfa\xed\xfe", "Mach-O executable"},
	{"\xfe\xed\xfa\xcf", "Mach-O executable"}, {"\xca\xfe\xba\xbe", "Java class or Mach-O"}, {"\x00asm", "WebAssembly module"}, {"dex\n", "Android bytecode"},
	{"\x1bLua", "Lua bytecode"}, {"!<arch>", "static library"},
}

var mediaMagic = []struct{ prefix, name string }{
	{"\x89PNG\r\n\x1a\n", "PNG"}, {"\xff\xd8\xff", "JPEG"}, {"GIF8", "GIF"}, {"%PDF-", "PDF"}, {"RIFF", "RIFF media"}, {"OggS", "Ogg"}, {"ID3", "MP3"}, {"\xff\xfb", "MP3"},
	{"wOFF", "web font"}, {"wOF2", "web font"}, {"\x00\x01\x00\x00", "TrueType font"}, {"OTTO", "OpenType font"}, {"fLaC", "FLAC"}, {"BM", "BMP"}, {"II*\x00", "TIFF"}, {"MM\x00*", "TIFF"},
	{"\x00\x00\x01\x00", "icon"}, {"\x1aE\xdf\xa3", "Matroska"}, {"SQLite format 3\x00", "SQLite database"}, {"PAR1", "Parquet"}, {"8BPS", "Photoshop"},
}

var archiveMagic = []struct{ prefix, name string }{
	{"PK\x03\x04", "zip"}, {"PK\x05\x06", "zip"}, {"\x1f\x8b", "gzip"}, {"BZh", "bzip2"}, {"\xfd7zXZ\x00", "xz"}, {"7z\xbc\xaf\x27\x1c", "7-zip"}, {"Rar!", "rar"}, {"\x28\xb5\x2f\xfd", "zstd"},
}

// officeExt are zip containers that documents use.
var officeExt = map[string]bool{".docx": true, ".xlsx": true, ".pptx": true, ".odt": true, ".ods": true, ".odp": true, ".epub": true}

// controlBytes is the format of a program or of instructions that hold bytes which no
// text has.
const controlBytes = "text with control bytes"

func classify(name string, head []byte) fileInfo {
	info := fileInfo{role: roleOf(name)}
	ext := strings.ToLower(path.Ext(name))
	if format, kind := magicOf(head, ext); format != "" {
		info.kind, info.format = kind, format
		return info
	}
	info.kind = textKind(name, ext, head)
	if !looksText(head) {
		if info.kind != kindMarkdown && !info.isCode() {
			info.kind, info.format = kindBinary, "unknown binary data"
			return info
		}
		// Interpreters skip what makes a program look like binary data: read it as they do.
		info.format = controlBytes
	}
	if info.role == roleReference && info.isCode() {
		info.role = roleScript
	}
	return info
}

func magicOf(head []byte, ext string) (string, fileKind) {
	for _, m := range executableMagic {
		// "MZ" may begin a word: an executable also holds bytes that text does not.
		if bytes.HasPrefix(head, []byte(m.prefix)) && (m.prefix != "MZ" || !looksText(head)) {
			return m.name, kindBinary
		}
	}
	for _, m := range mediaMagic {
		if bytes.HasPrefix(head, []byte(m.prefix)) && (len(m.prefix) > 3 || !looksText(head)) {
			return m.name, kindMedia
		}
	}
	if len(head) > 12 && string(head[4:8]) == "ftyp" {
		return "MP4 media", kindMedia
	}
	for _, m := range archiveMagic {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			if officeExt[ext] {
				return "office document", kindMedia
			}
			return m.name + " archive", kindBinary
		}
	}
	return "", ""
}

var shebang = regexp.MustCompile(`^#!\s*\S*?(?:/env\s+(?:-S\s+)?)?([a-z]+)[\d.]*(?:\s|$)`)

func textKind(name, ext string, head []byte) fileKind {
	if k, ok := kindByExt[ext]; ok {
		return k
	}
	if k, ok := kindByName[strings.ToLower(path.Base(name))]; ok {
		return k
	}
	if bytes.HasPrefix(head, []byte("#!")) {
		line, _, _ := bytes.Cut(head, []byte("\n"))
		return interpreterKind(string(line))
	}
	if strings.HasPrefix(path.Base(strings.ToLower(name)), ".env") || strings.HasPrefix(strings.ToLower(path.Base(name)), "dockerfile") {
		return kindConfig
	}
	return kindText
}

func interpreterKind(line string) fileKind {
	if !shebang.MatchString(line) {
		return kindCode
	}
	switch {
	case strings.HasSuffix(line, "sh") || strings.Contains(line, "sh "):
		return kindShell
	case strings.Contains(line, "python"):
		return kindPython
	case strings.Contains(line, "node") || strings.Contains(line, "deno") || strings.Contains(line, "bun"):
		return kindJavaScript
	}
	return kindCode
}

func looksText(head []byte) bool {
	if len(head) == 0 || bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) {
		return true
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	odd := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if (r == utf8.RuneError && n == 1 && len(head)-i > utf8.UTFMax) || (r < 0x20 && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != 0x1b) {
			odd++
		}
		i += n
	}
	return odd*20 <= len(head)
}

var (
	testPath    = regexp.MustCompile(`(?i)(^|/)(tests?|testdata|__tests__|specs?|fixtures?|(test[-_]?)?cases|specimens?|goldens?|mocks?|snapshots?|features|e2e|cypress|playwright)/|(^|/)(test_[^/]*|[^/]*_test|[^/]*\.(test|spec))\.[a-z]+$|(^|/)(examples?|samples?)/([^/]*/)*(bad|unsafe|insecure|vulnerable|broken)([-_.][^/]*)?(/|$)|(^|/)conftest\.py$|(^|/)evals?/|(^|/)([^/]*[-_])?(cases|payloads?|attacks?|fixtures?|evals?|expected)\.(ya?ml|jsonl?|csv|txt|md)$|\.(feature|yara?|sigma|snort)$`)
	examplePath = regexp.MustCompile(`(?i)(^|/)(examples?|samples?|demos?|templates?)/`)
	vendorPath  = regexp.MustCompile(`(?i)(^|/)(vendor|vendored|node_modules|third[_-]?party|bower_components)/|\.min\.(js|css)$`)
	licencePath = regexp.MustCompile(`(?i)(^|/)(licen[cs]e|eula|terms|copying|notice|copyright|third[_-]?party[_-]?(notices|licenses))([-_.][^/]*)?$`)
	lockPath    = regexp.MustCompile(`(?i)(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|pipfile\.lock|uv\.lock|go\.sum|cargo\.lock|composer\.lock|gemfile\.lock)$`)
)

func roleOf(name string) fileRole {
	switch {
	case lockPath.MatchString(name):
		return roleLock
	case licencePath.MatchString(name):
		return roleLicence
	case vendorPath.MatchString(name):
		return roleVendored
	case testPath.MatchString(name):
		return roleTest
	case examplePath.MatchString(name):
		return roleExample
	}
	return roleReference
}
