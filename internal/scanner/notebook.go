package scanner

import (
	"encoding/json"
	"strings"
)

type notebookCell struct {
	CellType string          `json:"cell_type"`
	Source   json.RawMessage `json:"source"`
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
	}
	return sb.String(), true
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
