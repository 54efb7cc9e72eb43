package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/course-marketplace/backend/internal/market"
)

// MaxBody is how many bytes a JSON body may have.
const MaxBody = 1 << 20

const mediaTypeJSON = "application/json"

// body is what an operation expects as its body. Anything but JSON is a stream
// that is left to the handler.
type body struct {
	required   bool
	mediaTypes []string
	schema     *jsonschema.Schema // nil for a stream
	fields     map[string]*openapi3.Schema
	defaults   map[string]any
}

func (c *Contract) newBody(b *openapi3.RequestBody, at string) (*body, error) {
	out := &body{required: b.Required, mediaTypes: slices.Sorted(maps.Keys(b.Content))}
	content, ok := b.Content[mediaTypeJSON]
	if !ok {
		return out, nil
	}
	schema, err := c.schema(at + escape(mediaTypeJSON) + "/schema")
	if err != nil {
		return nil, err
	}
	out.schema, out.fields, out.defaults = schema, make(map[string]*openapi3.Schema), make(map[string]any)
	for name, property := range content.Schema.Value.Properties {
		out.fields[name] = property.Value
		if property.Value.Default != nil {
			out.defaults[name] = property.Value.Default
		}
	}
	return out, nil
}

// ReadBody checks the body and returns a request that carries it in the form
// handlers get: declared fields only, optional fields with a default filled in.
// Dropping what is not declared also keeps a field from slipping past the check
// in another case, since Go decodes names without regard to case.
//
// Problems are what is wrong with the content; the error is a refusal of the
// body as such: its size or its media type.
func (o *Operation) ReadBody(w http.ResponseWriter, r *http.Request) (*http.Request, []market.FieldError, error) {
	if o.body == nil {
		return r, nil, nil
	}
	if o.body.schema == nil {
		return r, nil, o.body.checkMediaType(r)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return nil, nil, readError(err)
	}
	switch empty := len(bytes.TrimSpace(raw)) == 0; {
	case empty && o.body.required:
		return nil, market.Invalid("missing", "is required", "body").Fields, nil
	case empty:
		raw = []byte("{}") // so that the handler gets the defaults
	default:
		if err := o.body.checkMediaType(r); err != nil {
			return nil, nil, err
		}
	}
	canonical, problems := o.body.check(raw)
	if len(problems) > 0 {
		return nil, problems, nil
	}
	checked := r.WithContext(r.Context())
	checked.Body = io.NopCloser(bytes.NewReader(canonical))
	checked.ContentLength = int64(len(canonical))
	return checked, nil, nil
}

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &market.Error{
			Kind: market.KindTooLarge, Code: "body_too_large",
			Detail: fmt.Sprintf("The body may have at most %d bytes.", tooLarge.Limit),
		}
	}
	return market.Invalid("body_unreadable", "could not be read to its end", "body")
}

func (b *body) checkMediaType(r *http.Request) error {
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(parameters["charset"])
	encoding := strings.ToLower(r.Header.Get("Content-Encoding"))
	if err == nil && slices.Contains(b.mediaTypes, mediaType) &&
		(charset == "" || charset == "utf-8") && (encoding == "" || encoding == "identity") {
		return nil
	}
	return &market.Error{
		Kind: market.KindUnsupported, Code: "unsupported_media_type",
		Detail: "Send the body as " + strings.Join(b.mediaTypes, " or ") + ".",
	}
}

func (b *body) check(raw []byte) ([]byte, []market.FieldError) {
	value, problems := decode(raw)
	if len(problems) > 0 {
		return nil, problems
	}
	problems, exact := inspect(value)
	if exact {
		problems = append(problems, schemaProblems(b.schema, value, []any{"body"})...)
	}
	if len(problems) > 0 {
		return nil, inOrder(problems)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return raw, nil
	}
	canonical, err := json.Marshal(b.canonical(object))
	if err != nil {
		return nil, market.Invalid("json_invalid", "is not valid JSON", "body").Fields
	}
	return canonical, nil
}

// canonical keeps the declared fields, writes integers without fraction and
// exponent, and fills in defaults.
func (b *body) canonical(object map[string]any) map[string]any {
	out := maps.Clone(b.defaults)
	for name, schema := range b.fields {
		value, ok := object[name]
		if !ok {
			continue
		}
		if n, ok := value.(json.Number); ok && schema.Type.Includes(openapi3.TypeInteger) {
			if r, ok := new(big.Rat).SetString(n.String()); ok && r.IsInt() {
				value = json.Number(r.Num().String())
			}
		}
		out[name] = value
	}
	return out
}
