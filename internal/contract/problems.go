package contract

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/course-marketplace/backend/internal/market"
)

// schemaProblems returns every way in which value breaks schema. Messages never
// repeat the value: it may be a password.
func schemaProblems(schema *jsonschema.Schema, value any, loc []any) []market.FieldError {
	err := schema.Validate(value)
	if err == nil {
		return nil
	}
	var broken *jsonschema.ValidationError
	if !errors.As(err, &broken) {
		return market.Invalid("invalid", "cannot be checked", loc...).Fields
	}
	var problems []market.FieldError
	for _, leaf := range leaves(broken) {
		problems = append(problems, fieldErrors(leaf, append(slices.Clone(loc), steps(value, leaf.InstanceLocation)...))...)
	}
	return problems
}

// inOrder sorts problems by location: they were found by walking Go maps, whose
// order is not the same twice.
func inOrder(problems []market.FieldError) []market.FieldError {
	slices.SortFunc(problems, func(a, b market.FieldError) int {
		return cmp.Or(strings.Compare(fmt.Sprint(a.Loc...), fmt.Sprint(b.Loc...)), strings.Compare(a.Type, b.Type))
	})
	return problems
}

// leaves returns the errors that name a cause. Of alternatives, those branches
// that only wanted null say nothing that helps.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		if !wantsNull(cause) {
			all = append(all, leaves(cause)...)
		}
	}
	return all
}

func wantsNull(e *jsonschema.ValidationError) bool {
	t, ok := e.ErrorKind.(*kind.Type)
	return ok && len(t.Want) == 1 && t.Want[0] == "null"
}

// steps writes a location within value as names and list indexes.
func steps(value any, location []string) []any {
	path := make([]any, 0, len(location))
	for _, step := range location {
		switch v := value.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return append(path, step)
			}
			path, value = append(path, i), v[i]
		case map[string]any:
			path, value = append(path, step), v[step]
		default:
			path = append(path, step)
		}
	}
	return path
}

func fieldErrors(e *jsonschema.ValidationError, loc []any) []market.FieldError {
	if k, ok := e.ErrorKind.(*kind.Required); ok {
		missing := make([]market.FieldError, 0, len(k.Missing))
		for _, name := range k.Missing {
			at := append(slices.Clone(loc), name)
			missing = append(missing, market.FieldError{Loc: at, Msg: "is required", Type: "missing"})
		}
		return missing
	}
	typ, msg := describe(e.ErrorKind)
	return []market.FieldError{{Loc: loc, Msg: msg, Type: typ}}
}

// describe gives an error its stable type and a message for people.
func describe(k jsonschema.ErrorKind) (typ, msg string) {
	switch k := k.(type) {
	case *kind.Type:
		return "type_error", "must be " + article(k.Want)
	case *kind.Enum:
		return "enum", "must be one of " + list(k.Want)
	case *kind.Const:
		return "enum", fmt.Sprintf("must be %v", k.Want)
	case *kind.MinLength:
		if k.Want == 1 {
			return "string_too_short", "must not be empty"
		}
		return "string_too_short", fmt.Sprintf("must be at least %d characters", k.Want)
	case *kind.MaxLength:
		return "string_too_long", fmt.Sprintf("must be at most %d characters", k.Want)
	case *kind.Pattern:
		return "string_pattern", "must match " + k.Want
	case *kind.Minimum:
		return "greater_than_equal", "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "less_than_equal", "must be at most " + number(k.Want)
	case *kind.MinItems:
		return "too_short", fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return "too_long", fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.Format:
		return describeFormat(k.Want)
	default:
		return "invalid", "is not valid"
	}
}

func describeFormat(format string) (typ, msg string) {
	switch format {
	case "uuid":
		return "uuid_parsing", "must be a UUID"
	case "date-time":
		return "datetime_parsing", "must be a date-time such as 2027-01-31T12:00:00Z"
	case "email":
		return "email", "must be an e-mail address"
	default:
		return "format", "must be a " + format
	}
}

func article(types []string) string {
	var names []string
	for _, t := range types {
		switch {
		case t == "null":
			continue
		case strings.ContainsAny(t[:1], "aeio"):
			names = append(names, "an "+t)
		default:
			names = append(names, "a "+t)
		}
	}
	return strings.Join(names, " or ")
}

func list(values []any) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprint(v)
	}
	return strings.Join(names, ", ")
}

func number(r *big.Rat) string {
	return r.RatString()
}
