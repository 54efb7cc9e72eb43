package scanner

import (
	"regexp"
	"strings"
)

// textContext is where in a document a line stands.
type textContext string

const (
	ctxProse       textContext = "prose"
	ctxHeading     textContext = "heading"
	ctxQuote       textContext = "quote"
	ctxCode        textContext = "code"
	ctxComment     textContext = "comment" // rendered nowhere: HTML and link-reference comments
	ctxFrontMatter textContext = "front_matter"
	ctxTable       textContext = "table"
	ctxSource      textContext = "source" // a line of a program or a configuration file
)

// block is a run of lines of one context.
type block struct {
	context textContext
	lang    string // of a fenced code block
	heading string // the nearest heading above
	intro   string // the prose just above, which says what a code block or quotation is
	start   int    // 1-based line of lines[0]
	lines   []string
}

const maxBlockLines = 40

// markdownBlocks sorts a document's lines into blocks in one pass. It is a line
// classifier and no full Markdown parser on purpose: it is linear whatever the
// nesting, and every block keeps its line numbers.
func markdownBlocks(text string) []block {
	p := &markdownParser{}
	for i, line := range strings.Split(text, "\n") {
		p.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	p.flush()
	return p.blocks
}

type markdownParser struct {
	blocks   []block
	current  block
	fence    string // the opening fence's marker while inside one
	comment  bool
	front    bool
	heading  string
	intro    string
	lastLine int
}

var (
	fenceOpen   = regexp.MustCompile("^\\s{0,12}(?:[-*+>]\\s+|\\d+[.)]\\s+)*(`{3,}|~{3,})\\s*\\{?\\.?([A-Za-z0-9_+#.-]*)")
	headingLine = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)\s*#*$`)
	hiddenLink  = regexp.MustCompile(`^\s*\[(?://|comment|_|#|hidden|\.)?\]:\s*(?:#|<>)?\s*["'(](.*)["')]\s*$`)
)

func (p *markdownParser) line(n int, line string) {
	p.lastLine = n
	trimmed := strings.TrimSpace(line)
	switch {
	case p.front:
		p.frontMatter(n, line, trimmed)
	case p.fence != "":
		p.insideFence(n, line, trimmed)
	case p.comment:
		p.commentLine(n, line)
	case n == 1 && trimmed == "---":
		p.front = true
	default:
		p.outside(n, line, trimmed)
	}
}

func (p *markdownParser) frontMatter(n int, line, trimmed string) {
	if trimmed == "---" || trimmed == "..." {
		p.front = false
		p.flush()
		return
	}
	p.put(n, ctxFrontMatter, line)
}

func (p *markdownParser) insideFence(n int, line, trimmed string) {
	if strings.HasPrefix(trimmed, p.fence) && strings.Trim(trimmed, p.fence[:1]) == "" {
		p.fence = ""
		p.flush()
		return
	}
	// A code block stays whole: the language parsers need all of it.
	if p.current.context != ctxCode {
		p.begin(n, ctxCode)
	}
	p.current.lines = append(p.current.lines, line)
}

func (p *markdownParser) outside(n int, line, trimmed string) {
	if m := fenceOpen.FindStringSubmatch(line); m != nil && !strings.Contains(strings.TrimSpace(line)[3:], "```") {
		p.flush()
		p.fence = m[1]
		p.begin(n+1, ctxCode)
		p.current.lang = strings.ToLower(m[2])
		return
	}
	if before, after, found := strings.Cut(line, "<!--"); found && !inCodeSpan(before, after) {
		if strings.TrimSpace(before) != "" {
			p.plain(n, before, strings.TrimSpace(before))
		}
		p.comment = true
		p.commentLine(n, after)
		return
	}
	p.plain(n, line, trimmed)
}

// inCodeSpan reports a comment that is shown: it begins and ends within one code span.
func inCodeSpan(before, after string) bool {
	_, rest, closed := strings.Cut(after, "-->")
	return closed && strings.Count(before, "`")%2 == 1 && strings.Contains(rest, "`")
}

func (p *markdownParser) plain(n int, line, trimmed string) {
	switch {
	case trimmed == "":
		p.flush()
	case headingLine.MatchString(line):
		p.flush()
		p.heading = headingLine.FindStringSubmatch(line)[1]
		p.put(n, ctxHeading, p.heading)
		p.flush()
		p.intro = ""
	case hiddenLink.MatchString(line):
		p.flush()
		p.put(n, ctxComment, hiddenLink.FindStringSubmatch(line)[1])
		p.flush()
	case strings.HasPrefix(trimmed, ">"):
		p.put(n, ctxQuote, strings.TrimLeft(trimmed, "> "))
	case strings.HasPrefix(trimmed, "|"):
		p.put(n, ctxTable, line)
	case (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")) && (len(p.current.lines) == 0 || p.current.context == ctxCode) && !isListLine(trimmed):
		p.put(n, ctxCode, line)
	default:
		p.put(n, ctxProse, line)
	}
}

func isListLine(trimmed string) bool {
	return strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* ") || strings.HasPrefix(trimmed, "+ ") || (len(trimmed) > 1 && trimmed[0] >= '0' && trimmed[0] <= '9')
}

func (p *markdownParser) commentLine(n int, line string) {
	before, after, closed := strings.Cut(line, "-->")
	p.put(n, ctxComment, before)
	if !closed {
		return
	}
	p.comment = false
	p.flush()
	if strings.TrimSpace(after) != "" {
		p.outside(n, after, strings.TrimSpace(after))
	}
}

func (p *markdownParser) put(n int, context textContext, line string) {
	if p.current.context != context || len(p.current.lines) >= maxBlockLines {
		p.flush()
		p.begin(n, context)
	}
	p.current.lines = append(p.current.lines, line)
}

func (p *markdownParser) begin(n int, context textContext) {
	p.current = block{context: context, heading: p.heading, intro: p.intro, start: n}
}

func (p *markdownParser) flush() {
	if len(p.current.lines) > 0 {
		p.blocks = append(p.blocks, p.current)
		if p.current.context == ctxProse {
			last := p.current.lines
			p.intro = strings.Join(last[max(0, len(last)-3):], " ")
		}
	}
	p.current = block{}
}

// sourceBlocks cuts a program or a plain text into blocks at blank lines, so that a
// rule which needs two things together finds them only where they stand together.
func sourceBlocks(text string, context textContext) []block {
	var blocks []block
	var current block
	flush := func() {
		if len(current.lines) > 0 {
			blocks = append(blocks, current)
		}
		current = block{}
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if strings.TrimSpace(line) == "" || len(current.lines) >= maxBlockLines {
			flush()
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if len(current.lines) == 0 {
			current = block{context: context, start: n}
		}
		current.lines = append(current.lines, strings.TrimSuffix(line, "\r"))
	}
	flush()
	return blocks
}

// fixedBlocks cuts a program every maxBlockLines lines, wherever blank lines are.
func fixedBlocks(text string) []block {
	var blocks []block
	lines := strings.Split(text, "\n")
	for at := 0; at < len(lines); at += maxBlockLines {
		end := min(at+maxBlockLines, len(lines))
		blocks = append(blocks, block{context: ctxSource, start: at + 1, lines: lines[at:end]})
	}
	return blocks
}

// blocksOf cuts a file's text the way its kind asks for.
func blocksOf(info fileInfo, text string) []block {
	switch info.kind {
	case kindMarkdown, kindHTML:
		return markdownBlocks(text)
	case kindText:
		return sourceBlocks(text, ctxProse)
	case kindCode:
		// No parser follows values here, so a rule that needs two things together has
		// to see a function's blank-line-separated parts at once.
		return fixedBlocks(text)
	}
	return sourceBlocks(text, ctxSource)
}
