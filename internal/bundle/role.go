package bundle

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// Role is what a file is for.
type Role string

// The roles of a bundle's files.
const (
	RoleMain      Role = "main"      // the instructions: SKILL.md or COURSE.md in the root
	RoleReference Role = "reference" // prose to read
	RoleScript    Role = "script"    // code that may be run
	RoleAsset     Role = "asset"     // anything else
	RoleManifest  Role = "manifest"  // declares capabilities or dependencies
	RoleLicense   Role = "license"
)

const (
	textPlain   = "text/plain; charset=utf-8"
	octetStream = "application/octet-stream"
)

// betterMain returns the preferred of two candidates for the main file.
func betterMain(current, candidate string) string {
	if candidate == "SKILL.md" || candidate == "COURSE.md" && current == "" {
		return candidate
	}
	return current
}

// describe decides a file's role and content type from its path and its first
// bytes. The order matters: what may be executed is a script wherever it lies.
func describe(p string, t traits, isMain bool) (Role, string) {
	base := strings.ToLower(path.Base(p))
	ext := path.Ext(base)
	contentType := contentTypeOf(ext, t)
	switch {
	case isMain:
		return RoleMain, contentType
	case manifestNames[base]:
		return RoleManifest, contentType
	case scriptExtensions[ext], t.shebang:
		return RoleScript, textPlain
	case licensed(base, ext):
		return RoleLicense, contentType
	case referenceExtensions[ext]:
		return RoleReference, contentType
	case strings.HasPrefix(p, "scripts/"):
		return RoleScript, contentType
	case strings.HasPrefix(p, "references/"):
		return RoleReference, contentType
	}
	return RoleAsset, contentType
}

// licensed recognises LICENSE, LICENSE.md, LICENSE-MIT, COPYING.LESSER, NOTICE
// and their like, but not licenses.json.
func licensed(base, ext string) bool {
	for _, word := range []string{"license", "licence", "unlicense", "copying", "notice"} {
		rest, found := strings.CutPrefix(base, word)
		if found && (rest == "" || rest == ext || rest[0] == '-' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// contentTypeOf uses a table of its own, so that every machine answers the same.
func contentTypeOf(ext string, t traits) string {
	if known, ok := contentTypes[ext]; ok {
		return known
	}
	if t.text {
		return textPlain
	}
	return octetStream
}

// isText reports whether a file that begins with head is UTF-8 text. The last
// character may be cut.
func isText(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return cut == 0 || !utf8.FullRune(head[len(head)-cut:])
		}
	}
	return false
}

var manifestNames = setOf(
	"capabilities.yaml", "capabilities.yml", "capabilities.json",
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
	"requirements.txt", "requirements-dev.txt", "constraints.txt", "pyproject.toml", "poetry.lock", "uv.lock",
	"pipfile", "pipfile.lock", "setup.cfg", "environment.yml", "environment.yaml",
	"go.mod", "go.sum", "go.work", "cargo.toml", "cargo.lock", "gemfile", "gemfile.lock",
	"composer.json", "composer.lock", "pom.xml", "build.gradle", "mcp.json", ".mcp.json", "deno.json", "deno.lock",
)

var scriptExtensions = setOf(
	".sh", ".bash", ".zsh", ".fish", ".ksh", ".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx",
	".rb", ".pl", ".pm", ".php", ".lua", ".r", ".go", ".rs", ".java", ".kt", ".swift", ".c", ".cc", ".cpp", ".cs",
	".ps1", ".psm1", ".bat", ".cmd", ".vbs", ".awk", ".tcl", ".applescript", ".sql",
)

var referenceExtensions = setOf(".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc", ".org", ".tex")

var contentTypes = map[string]string{
	".md": "text/markdown; charset=utf-8", ".markdown": "text/markdown; charset=utf-8", ".mdx": "text/markdown; charset=utf-8",
	".txt": textPlain, ".rst": textPlain, ".adoc": textPlain, ".org": textPlain, ".tex": textPlain, ".log": textPlain,
	".csv": "text/csv; charset=utf-8", ".tsv": "text/tab-separated-values; charset=utf-8",
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".xhtml": "application/xhtml+xml",
	".css": "text/css; charset=utf-8", ".xml": "application/xml", ".svg": "image/svg+xml",
	".json": "application/json", ".jsonl": "application/jsonl", ".ipynb": "application/x-ipynb+json",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif",
	".ico": "image/x-icon", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".mp4": "video/mp4", ".webm": "video/webm",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip",
	".tar": "application/x-tar", ".wasm": "application/wasm", ".parquet": "application/vnd.apache.parquet",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
