package bundle

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/course-marketplace/backend/internal/market"
)

// cleanPath returns the relative, slash-separated path an archive's name stands
// for, or refuses it. The root directory itself ("./") is "". A path must mean
// the same file on every system that may unpack the bundle, so what is special
// on any of them is refused on all.
func cleanPath(name string) (string, error) {
	if !utf8.ValidString(name) {
		return "", atPath(malformed("A file name is not UTF-8; pack the archive again with UTF-8 names."), name)
	}
	if reason := unsafeName(name); reason != "" {
		return "", pathEscape(name, reason)
	}
	var segments []string
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." {
			continue
		}
		if reason := unsafeSegment(segment); reason != "" {
			return "", pathEscape(name, reason)
		}
		segments = append(segments, segment)
	}
	path := strings.Join(segments, "/")
	if path == "-" {
		return "", pathEscape(name, `"-" alone, which command-line tools take for standard input`)
	}
	return path, nil
}

func pathEscape(name, reason string) *market.Error {
	return atPath(market.Refused(CodePathEscape, "A file name is not allowed: it is or contains %s.", reason), name)
}

func unsafeName(name string) string {
	switch {
	case len(name) > MaxPathBytes:
		return "more than 512 bytes"
	case strings.HasPrefix(name, "/"):
		return "an absolute path"
	case strings.Contains(name, `\`):
		return "a backslash"
	case strings.Contains(name, ":"):
		return "a colon, as drive letters and alternate data streams do"
	case strings.ContainsFunc(name, invisible):
		return "a control character"
	}
	return ""
}

func unsafeSegment(segment string) string {
	switch {
	case segment == "..":
		return "a step to a parent directory"
	case len(segment) > MaxSegmentBytes:
		return "a name of more than 255 bytes"
	case strings.HasSuffix(segment, "."), strings.HasSuffix(segment, " "):
		return "a trailing dot or space, which Windows removes"
	case deviceNames[deviceStem(segment)]:
		return "a device name reserved on Windows"
	}
	return ""
}

// invisible characters let a path look like another one. U+200C and U+200D stay
// allowed: some scripts and emoji are spelled with them.
func invisible(r rune) bool {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return true
	}
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d'
}

// deviceNames are reserved in every directory, with or without an extension:
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
var deviceNames = map[string]bool{
	"CON": true, "PRN": true, "AUX": true, "NUL": true, "CONIN$": true, "CONOUT$": true,
	"COM1": true, "COM2": true, "COM3": true, "COM4": true, "COM5": true, "COM6": true, "COM7": true, "COM8": true, "COM9": true,
	"COM¹": true, "COM²": true, "COM³": true,
	"LPT1": true, "LPT2": true, "LPT3": true, "LPT4": true, "LPT5": true, "LPT6": true, "LPT7": true, "LPT8": true, "LPT9": true,
	"LPT¹": true, "LPT²": true, "LPT³": true,
}

func deviceStem(segment string) string {
	stem, _, _ := strings.Cut(segment, ".")
	return strings.ToUpper(strings.TrimRight(stem, " "))
}

// ignored tells what packing tools of macOS add beside the author's files.
func ignored(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return path == "__MACOSX" || strings.HasPrefix(path, "__MACOSX/") ||
		base == ".DS_Store" || strings.HasPrefix(base, "._")
}

// pathTree finds paths that would collide on some file system: the same name
// twice, names that differ only in case or Unicode form, a file where another
// path needs a directory.
// Directories that are only implied count as nodes too, so that deep paths
// cannot make it large.
type pathTree struct {
	fold  cases.Caser
	nodes map[string]treeNode
}

type treeNode struct {
	spelling string
	dir      bool
}

func newPathTree() *pathTree {
	return &pathTree{fold: cases.Fold(), nodes: make(map[string]treeNode)}
}

func (t *pathTree) add(path string, dir bool) error {
	// Folding neither makes nor removes a slash, so the prefixes of the folded
	// path are the folded prefixes of the path.
	folded := norm.NFC.String(t.fold.String(norm.NFD.String(path)))
	at := 0
	for i := range len(folded) {
		if folded[i] != '/' {
			continue
		}
		at += strings.IndexByte(path[at:], '/')
		if err := t.addNode(folded[:i], path[:at], true); err != nil {
			return err
		}
		at++
	}
	return t.addNode(folded, path, dir)
}

func (t *pathTree) addNode(key, path string, dir bool) error {
	old, taken := t.nodes[key]
	if !taken {
		if len(t.nodes) == maxEntries {
			return tooManyFiles()
		}
		t.nodes[key] = treeNode{spelling: path, dir: dir}
		return nil
	}
	if dir && old.dir && old.spelling == path {
		return nil
	}
	return atPath(market.Refused(CodeDuplicatePath,
		"Two entries of the archive have the same path, or paths that are the same on systems that ignore case or Unicode form."), path).
		With("conflicts_with", old.spelling)
}

// topDirectory returns "dir/" if every path lies in one and the same top-level
// directory, as in an archive of a folder, and "" otherwise.
func topDirectory(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	i := strings.IndexByte(paths[0], '/')
	if i < 0 {
		return ""
	}
	top := paths[0][:i+1]
	for _, p := range paths {
		if !strings.HasPrefix(p, top) {
			return ""
		}
	}
	return top
}
