package scanner

import (
	"context"
	"errors"
	"strings"
	"sync"

	sitter "github.com/tree-sitter/go-tree-sitter"
	sitterjs "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
	sitterpy "github.com/tree-sitter/tree-sitter-python/bindings/go"
	sitterts "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

// maxProgramBytes is the longest program that is parsed: the parser's tree and its
// copy may take some three hundred times their source's size.
const maxProgramBytes = 1 << 20

var errProgramTooLarge = errors.New("the program is too large to parse")

// language is a tree-sitter grammar with its names looked up once.
type language struct {
	name    string
	grammar *sitter.Language
	kinds   []string
	named   []bool
	fields  []string
}

var (
	pythonGrammar     = sync.OnceValue(func() *language { return newLanguage("python", sitter.NewLanguage(sitterpy.Language())) })
	javascriptGrammar = sync.OnceValue(func() *language {
		return newLanguage("javascript", sitter.NewLanguage(sitterjs.Language()))
	})
	typescriptGrammar = sync.OnceValue(func() *language {
		return newLanguage("typescript", sitter.NewLanguage(sitterts.LanguageTypescript()))
	})
	tsxGrammar = sync.OnceValue(func() *language {
		return newLanguage("typescript", sitter.NewLanguage(sitterts.LanguageTSX()))
	})
)

func newLanguage(name string, grammar *sitter.Language) *language {
	l := &language{name: name, grammar: grammar, kinds: make([]string, grammar.NodeKindCount()), named: make([]bool, grammar.NodeKindCount()), fields: make([]string, grammar.FieldCount()+1)}
	for i := range l.kinds {
		l.kinds[i] = grammar.NodeKindForId(uint16(i))
		l.named[i] = grammar.NodeKindIsNamed(uint16(i))
	}
	for i := 1; i < len(l.fields); i++ {
		l.fields[i] = grammar.FieldNameForId(uint16(i))
	}
	return l
}

// node is a syntax node copied out of the parser's memory, so that walking it costs
// no call into C and it outlives the parser.
type node struct {
	kind     string
	field    string // the parent's name for this child
	text     string // source of the node, sharing the file's memory
	line     int
	named    bool
	children []*node
}

// maxTreeDepth stops hostile nesting: everything that walks a tree is recursive.
const maxTreeDepth = 400

// parse returns a program's tree and the share of it that did not parse.
func (l *language) parse(ctx context.Context, source string) (root *node, broken float64, err error) {
	if len(source) > maxProgramBytes {
		return nil, 0, errProgramTooLarge
	}
	parser := sitter.NewParser()
	defer parser.Close()
	if err := parser.SetLanguage(l.grammar); err != nil {
		return nil, 0, err
	}
	tree := parseBounded(ctx, parser, source)
	if tree == nil {
		return nil, 0, errProgramTooLarge
	}
	defer tree.Close()
	cursor := tree.Walk()
	defer cursor.Close()
	c := &treeCopy{lang: l, source: source}
	root = c.copy(cursor, 0)
	if c.cut {
		return root, 1, nil
	}
	return root, float64(c.broken) / float64(max(len(source), 1)), nil
}

// maxRereads bounds how often a source is handed to the parser. Its binding keeps a
// copy of all it was handed until the end, and text such as a row of comments that
// never close makes it read to the end again and again.
const maxRereads = 8

// maxParserReports bounds the parser's work, and with it the memory of the parses it
// keeps side by side where the grammar is ambiguous. It reports about fifteen times
// per KiB of ordinary source, sixty times where every second byte is a token.
const maxParserReports = 16_000

// parseBounded returns nil when the time, the reads or the work are used up.
func parseBounded(ctx context.Context, parser *sitter.Parser, source string) *sitter.Tree {
	data, budget, reports := []byte(source), maxRereads*len(source)+sniffBytes, 0
	stop := func(sitter.ParseState) bool {
		reports++
		return budget <= 0 || reports > maxParserReports || ctx.Err() != nil
	}
	tree := parser.ParseWithOptions(func(offset int, _ sitter.Point) []byte {
		if offset >= len(data) || budget <= 0 {
			return nil
		}
		budget -= len(data) - offset
		return data[offset:]
	}, nil, &sitter.ParseOptions{ProgressCallback: stop})
	if tree != nil && budget <= 0 {
		tree.Close()
		return nil
	}
	return tree
}

type treeCopy struct {
	lang   *language
	source string
	broken uint
	cut    bool
	at     uint // how far lines are counted
	lines  int
}

// lineAt counts lines as nodes come by, in the order of the source: asking the parser
// would cost a call into C for each node.
func (c *treeCopy) lineAt(offset uint) int {
	if offset > c.at {
		c.lines += strings.Count(c.source[c.at:offset], "\n")
		c.at = offset
	}
	return c.lines + 1
}

// copy returns nil for punctuation, which nothing asks for: it is named by no field.
func (c *treeCopy) copy(cursor *sitter.TreeCursor, depth int) *node {
	n := cursor.Node()
	kind, field := int(n.KindId()), int(cursor.FieldId())
	known := kind < len(c.lang.kinds)
	if known && !c.lang.named[kind] && field == 0 {
		return nil
	}
	start, end := n.ByteRange()
	out := &node{kind: "ERROR", named: true, text: c.source[start:end], line: c.lineAt(start)}
	if known {
		out.kind, out.named = c.lang.kinds[kind], c.lang.named[kind]
	} else {
		c.broken += end - start
	}
	if field < len(c.lang.fields) {
		out.field = c.lang.fields[field]
	}
	if depth >= maxTreeDepth {
		c.cut = true
		return out
	}
	if cursor.GotoFirstChild() {
		for more := true; more; more = cursor.GotoNextSibling() {
			if child := c.copy(cursor, depth+1); child != nil {
				out.children = append(out.children, child)
			}
		}
		cursor.GotoParent()
	}
	return out
}

// get returns the child with a field name.
func (n *node) get(field string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.field == field {
			return c
		}
	}
	return nil
}

// inner returns the named children.
func (n *node) inner() []*node {
	if n == nil {
		return nil
	}
	out := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		if c.named && c.kind != "comment" {
			out = append(out, c)
		}
	}
	return out
}

func (n *node) source() string {
	if n == nil {
		return ""
	}
	return n.text
}
