// Package contract judges requests and responses by the service's OpenAPI
// document. Every schema is compiled once; an operation is looked up by the
// route that the router already matched.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Contract is an OpenAPI document, ready to judge by.
type Contract struct {
	json       []byte
	document   *openapi3.T
	operations map[string]*Operation

	mu       sync.Mutex // guards compiler and compiled
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// Operation is one operation of the document.
type Operation struct {
	ID     string
	Method string
	// Path is the template, such as /v1/bounties/{bounty_id}.
	Path string

	parameters []parameter
	body       *body
	responses  map[string]map[string]string // status → media type → pointer to the schema, "" without one
}

// location is what the document is called among the schemas.
const location = "contract:///openapi.json"

// Load reads an OpenAPI 3.1 document in YAML and compiles what requests are
// judged by.
func Load(document []byte) (*Contract, error) {
	var tree any
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	encoded, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document as JSON: %w", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(encoded)
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	c := &Contract{
		json:       encoded,
		document:   doc,
		operations: make(map[string]*Operation),
		compiler:   newCompiler(),
		compiled:   make(map[string]*jsonschema.Schema),
	}
	if err := c.compiler.AddResource(location, resource); err != nil {
		return nil, err
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			o, err := c.operation(method, path, item, operation)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			c.operations[key(method, path)] = o
		}
	}
	return c, nil
}

// JSON is the document as JSON.
func (c *Contract) JSON() []byte { return c.json }

// Document is the document with every reference resolved. It must not be changed.
func (c *Contract) Document() *openapi3.T { return c.document }

// Operation returns the operation with the given method and path template, or nil.
func (c *Contract) Operation(method, path string) *Operation {
	return c.operations[key(method, path)]
}

func key(method, path string) string { return method + " " + path }

func (c *Contract) operation(method, path string, item *openapi3.PathItem, o *openapi3.Operation) (*Operation, error) {
	at := "#/paths/" + escape(path)
	op := &Operation{ID: o.OperationID, Method: method, Path: path}
	if err := c.addParameters(op, item.Parameters, at); err != nil {
		return nil, err
	}
	at += "/" + strings.ToLower(method)
	if err := c.addParameters(op, o.Parameters, at); err != nil {
		return nil, err
	}
	if o.RequestBody != nil {
		b, err := c.newBody(o.RequestBody.Value, at+"/requestBody/content/")
		if err != nil {
			return nil, err
		}
		op.body = b
	}
	op.responses = responsesOf(o, at)
	return op, nil
}

func responsesOf(o *openapi3.Operation, at string) map[string]map[string]string {
	all := make(map[string]map[string]string)
	for status, response := range o.Responses.Map() {
		pointer := at + "/responses/" + status
		if response.Ref != "" {
			pointer = response.Ref
		}
		all[status] = make(map[string]string)
		for mediaType, content := range response.Value.Content {
			all[status][mediaType] = ""
			if content.Schema != nil {
				all[status][mediaType] = pointer + "/content/" + escape(mediaType) + "/schema"
			}
		}
	}
	return all
}

// schema compiles the schema that a JSON pointer into the document names.
func (c *Contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.compiled[pointer]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(location + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", pointer, err)
	}
	c.compiled[pointer] = s
	return s, nil
}

// escape writes a key as one step of a JSON pointer in a URL fragment (RFC 6901).
func escape(step string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(step)
}

// match finds the operation for a concrete path. Only response checks need it;
// the server knows the template already. A template with fewer variables wins.
func (c *Contract) match(r *http.Request) *Operation {
	var found *Operation
	for _, o := range c.operations {
		if o.Method != r.Method || !fits(o.Path, r.URL.Path) {
			continue
		}
		if found == nil || strings.Count(o.Path, "{") < strings.Count(found.Path, "{") {
			found = o
		}
	}
	return found
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}
