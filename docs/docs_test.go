package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/docs"
)

// Codes that callers never see: they are caught where they arise.
var unseen = []string{"api_key_not_found"}

func TestEveryErrorCodeIsDocumentedOnce(t *testing.T) {
	t.Parallel()
	documented := map[string]int{}
	for _, code := range docs.ErrorCodes() {
		documented[code.Code]++
	}
	for code, times := range documented {
		if times > 1 {
			t.Errorf("%s is documented %d times", code, times)
		}
	}
	used := usedCodes(t)
	if len(used) < 40 {
		t.Fatalf("only %d codes were found in the source: %v", len(used), used)
	}
	for _, code := range slices.Sorted(maps.Keys(used)) {
		if documented[code] == 0 && !slices.Contains(unseen, code) {
			t.Errorf("%s (%s) is missing in docs/error-codes.md", code, used[code])
		}
	}
	source := allSource(t)
	for code := range documented {
		stem := strings.TrimSuffix(code, "_not_found")
		if !strings.Contains(source, `"`+code+`"`) && !strings.Contains(source, `"`+stem+`"`) {
			t.Errorf("%s is documented but nothing uses it", code)
		}
	}
}

// makers take a code, or the name of what is missing, as an argument.
var (
	makers  = regexp.MustCompile(`^(Forbidden|Conflict|Refused|Unauthenticated|Unavailable|RateLimited)$`)
	missing = regexp.MustCompile(`^(NotFound|found|translate)$`)
	frozen  = regexp.MustCompile(`^checkNotFrozen$`)
	name    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// usedCodes finds every code in the source, and a file that uses it.
func usedCodes(t *testing.T) map[string]string {
	t.Helper()
	used := map[string]string{}
	eachFile(t, func(path string, content []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, content, 0)
		if err != nil {
			return // being written
		}
		note := func(code string) {
			if name.MatchString(code) {
				used[code] = path
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				noteCall(n, note)
			case *ast.CompositeLit:
				noteLiteral(n, note)
			case *ast.ValueSpec:
				noteConstant(n, note)
			}
			return true
		})
	})
	return used
}

func noteCall(call *ast.CallExpr, note func(string)) {
	function := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		function = f.Name
	case *ast.SelectorExpr:
		function = f.Sel.Name
	}
	if len(call.Args) == 0 {
		return
	}
	last := text(call.Args[len(call.Args)-1])
	switch {
	case makers.MatchString(function):
		note(text(call.Args[0]))
	case missing.MatchString(function) && last != "":
		note(last + "_not_found")
	case frozen.MatchString(function):
		note(last)
	}
}

// noteLiteral looks for market.Error{Code: "…"}.
func noteLiteral(literal *ast.CompositeLit, note func(string)) {
	selector, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Error" {
		return
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Code" {
				note(text(pair.Value))
			}
		}
	}
}

// noteConstant looks for constants called codeX or CodeX.
func noteConstant(spec *ast.ValueSpec, note func(string)) {
	for i, ident := range spec.Names {
		if i < len(spec.Values) && regexp.MustCompile(`^[cC]ode[A-Z]`).MatchString(ident.Name) {
			note(text(spec.Values[i]))
		}
	}
}

func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return s
}

func allSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	eachFile(t, func(_ string, content []byte) { all.Write(content) })
	return all.String()
}

// eachFile reads the product's own Go files: no tests, no generated code, and not the
// scanner, whose codes are reasons of findings.
func eachFile(t *testing.T, read func(path string, content []byte)) {
	t.Helper()
	for _, dir := range []string{"api", "store", "internal", "workflows", "activities", "worker"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			generated := strings.HasSuffix(path, ".gen.go") || strings.HasSuffix(path, ".sql.go")
			if generated || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/scanner/") {
				return nil
			}
			content, err := os.ReadFile(path)
			if err == nil {
				read(path, content)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
