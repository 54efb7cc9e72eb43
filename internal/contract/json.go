package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/course-marketplace/backend/internal/market"
)

// maxDepth is how deeply a body may nest; Postgres gives up on jsonb long after.
const maxDepth = 64

// decode reads exactly one JSON value.
func decode(raw []byte) (any, []market.FieldError) {
	if !utf8.Valid(raw) {
		return nil, market.Invalid("json_invalid", "must be valid UTF-8", "body").Fields
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, market.Invalid("json_invalid", syntaxMessage(err, raw), "body").Fields
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, market.Invalid("json_invalid", "has more after the JSON value", "body").Fields
	}
	return value, nil
}

func syntaxMessage(err error, raw []byte) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "is not complete JSON"
	}
	before := raw[:min(int(syntax.Offset), len(raw))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("is not valid JSON at line %d, column %d", line, column)
}

// inspect refuses what no schema speaks of and Postgres cannot store: NUL
// characters, deep nesting, numbers beyond a float64. exact is false where a
// value must not even be validated, because computing with it would be costly.
func inspect(value any) (problems []market.FieldError, exact bool) {
	i := inspection{exact: true}
	i.visit(value, []any{"body"})
	return i.problems, i.exact
}

type inspection struct {
	problems []market.FieldError
	exact    bool
}

func (i *inspection) visit(value any, loc []any) {
	if len(loc) > maxDepth {
		i.refuse(loc[:1], "json_too_deep", fmt.Sprintf("must not nest deeper than %d levels", maxDepth))
		i.exact = false
		return
	}
	switch v := value.(type) {
	case string:
		if problem := checkText(v, loc); problem != nil {
			i.refuse(loc, problem.Type, problem.Msg)
		}
	case json.Number:
		if f, err := v.Float64(); err != nil || hasHugeExponent(v, f) {
			i.refuse(loc, "number_out_of_range", "must be a number that fits a 64-bit float")
			i.exact = false
		}
	case []any:
		for n, item := range v {
			i.visit(item, append(loc, n))
		}
	case map[string]any:
		for name, item := range v {
			if strings.ContainsRune(name, 0) {
				i.refuse(loc, "string_nul", "must not contain a NUL character in a name")
				continue
			}
			i.visit(item, append(loc, name))
		}
	}
}

// hasHugeExponent finds numbers such as 1e-999999999, which round to zero as a
// float64 but are expensive as an exact fraction.
func hasHugeExponent(n json.Number, f float64) bool {
	return len(n) > 400 || (math.Abs(f) < 1e-300 && strings.ContainsAny(n.String(), "eE"))
}

func (i *inspection) refuse(loc []any, typ, msg string) {
	i.problems = append(i.problems, market.FieldError{Loc: slices.Clone(loc), Msg: msg, Type: typ})
}
