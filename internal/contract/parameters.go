package contract

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/course-marketplace/backend/internal/market"
)

// parameter is a value outside the body. The document has single values only,
// no lists or objects.
type parameter struct {
	in, name string
	required bool
	kind     string // string, integer or boolean
	schema   *jsonschema.Schema
}

func (c *Contract) addParameters(op *Operation, parameters openapi3.Parameters, at string) error {
	for i, ref := range parameters {
		pointer := at + "/parameters/" + strconv.Itoa(i)
		if ref.Ref != "" {
			pointer = ref.Ref
		}
		schema, err := c.schema(pointer + "/schema")
		if err != nil {
			return err
		}
		p := ref.Value
		kind := "string"
		if types := p.Schema.Value.Type.Slice(); len(types) > 0 {
			kind = types[0]
		}
		op.parameters = append(op.parameters, parameter{in: p.In, name: p.Name, required: p.Required, kind: kind, schema: schema})
	}
	return nil
}

// CheckParameters returns every problem of the path, query and header values.
// pathValue gives the path's values by name, as the router found them.
func (o *Operation) CheckParameters(r *http.Request, pathValue func(name string) string) []market.FieldError {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return []market.FieldError{{Loc: []any{"query"}, Msg: "is not a valid query string", Type: "query_invalid"}}
	}
	var problems []market.FieldError
	for _, p := range o.parameters {
		var values []string
		switch p.in {
		case openapi3.ParameterInPath:
			values = []string{pathValue(p.name)}
		case openapi3.ParameterInQuery:
			values = query[p.name]
		case openapi3.ParameterInHeader:
			values = r.Header.Values(p.name)
		}
		problems = append(problems, p.check(values)...)
	}
	return problems
}

func (p parameter) check(values []string) []market.FieldError {
	loc := []any{p.in, p.name}
	switch {
	case len(values) == 0 && p.required:
		return market.Invalid("missing", "is required", loc...).Fields
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return market.Invalid("too_many_values", "may be given once only", loc...).Fields
	}
	if problem := checkText(values[0], loc); problem != nil {
		return []market.FieldError{*problem}
	}
	value, problem := p.parse(values[0], loc)
	if problem != nil {
		return []market.FieldError{*problem}
	}
	return schemaProblems(p.schema, value, loc)
}

func (p parameter) parse(text string, loc []any) (any, *market.FieldError) {
	switch p.kind {
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, &market.FieldError{Loc: loc, Msg: "must be a whole number", Type: "int_parsing"}
		}
		return json.Number(text), nil
	case "boolean":
		if text != "true" && text != "false" {
			return nil, &market.FieldError{Loc: loc, Msg: "must be true or false", Type: "bool_parsing"}
		}
		return text == "true", nil
	default:
		return text, nil
	}
}

// checkText refuses what Postgres cannot store as text.
func checkText(s string, loc []any) *market.FieldError {
	switch {
	case !utf8.ValidString(s):
		return &market.FieldError{Loc: loc, Msg: "must be valid UTF-8", Type: "string_unicode"}
	case strings.ContainsRune(s, 0):
		return &market.FieldError{Loc: loc, Msg: "must not contain a NUL character", Type: "string_nul"}
	}
	return nil
}
