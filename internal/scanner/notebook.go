package scanner

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

type notebookCell struct {
	CellType string          `json:"cell_type"`
	Source   json.RawMessage `json:"source"`
	Metadata json.RawMessage `json:"metadata"`
	Outputs  json.RawMessage `json:"outputs"`
}

// notebookCells reads a Jupyter notebook's cells (nbformat 4): a cell's source is a
// string or a list of lines.
func notebookCells(text string) ([]notebookCell, bool) {
	var book struct {
		Cells []notebookCell `json:"cells"`
	}
	if json.Unmarshal([]byte(text), &book) != nil || book.Cells == nil {
		return nil, false
	}
	return book.Cells, true
}

func (c notebookCell) text() string {
	var whole string
	if json.Unmarshal(c.Source, &whole) == nil {
		return whole
	}
	var lines []string
	if json.Unmarshal(c.Source, &lines) == nil {
		return strings.Join(lines, "")
	}
	return ""
}

func notebookText(text string) (string, bool) {
	cells, ok := notebookCells(text)
	if !ok {
		return "", false
	}
	var sb strings.Builder
	for _, c := range cells {
		sb.WriteString(c.text())
		sb.WriteString("\n\n")
		for _, unseen := range c.unseen() {
			sb.WriteString(unseen)
			sb.WriteString("\n\n")
		}
	}
	return sb.String(), true
}

const (
	maxUnseen      = 20      // texts of one cell
	maxUnseenBytes = 8 << 10 // of one of them
	unseenWords    = 6       // that make a sentence rather than a setting
)

// unseen is what a viewer does not show and an agent that reads the file does:
// sentences in a cell's metadata, and results that style makes invisible.
func (c notebookCell) unseen() []string {
	var out []string
	visitStrings(decodedJSON(c.Metadata), 0, func(s string) {
		if len(out) < maxUnseen && len(strings.Fields(s)) >= unseenWords {
			out = append(out, s[:min(len(s), maxUnseenBytes)])
		}
	})
	visitStrings(decodedJSON(c.Outputs), 0, func(s string) {
		if len(out) < maxUnseen && unseenStyle.MatchString(s[:min(len(s), maxUnseenBytes)]) {
			out = append(out, s[:min(len(s), maxUnseenBytes)])
		}
	})
	return out
}

var unseenStyle = regexp.MustCompile(`(?i)style\s*=\s*["'][^"']{0,200}(?:display:\s*none|font-size:\s*0|visibility:\s*hidden|opacity:\s*0[;"'])`)

const (
	maxJSONDepth = 12
	maxCellJSON  = 1 << 20 // larger results are data, and decoding multiplies them
)

func decodedJSON(raw json.RawMessage) any {
	var node any
	if len(raw) > maxCellJSON || json.Unmarshal(raw, &node) != nil {
		return nil
	}
	return node
}

// visitStrings calls see with every string of a JSON document, in a fixed order.
func visitStrings(node any, depth int, see func(string)) {
	if depth > maxJSONDepth {
		return
	}
	switch n := node.(type) {
	case string:
		see(n)
	case []any:
		for _, item := range n {
			visitStrings(item, depth+1, see)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(n)) {
			visitStrings(n[key], depth+1, see)
		}
	}
}

// notebookCode is the notebook's program: its code cells, shell lines (! and %)
// apart, since those are not Python.
func notebookCode(text string) (python, shell string, ok bool) {
	cells, ok := notebookCells(text)
	if !ok {
		return "", "", false
	}
	var py, sh strings.Builder
	for _, c := range cells {
		if c.CellType != "code" {
			continue
		}
		source := c.text()
		if rest, isShell := strings.CutPrefix(source, "%%bash"); isShell {
			sh.WriteString(rest + "\n")
			continue
		}
		for line := range strings.SplitSeq(source, "\n") {
			trimmed := strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(trimmed, "!"):
				sh.WriteString(trimmed[1:] + "\n")
			case strings.HasPrefix(trimmed, "%"):
				sh.WriteString(strings.TrimLeft(trimmed, "%") + "\n")
			default:
				py.WriteString(line + "\n")
			}
		}
	}
	return py.String(), sh.String(), true
}
