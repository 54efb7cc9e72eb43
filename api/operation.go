package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
)

// operation is what the request pipeline knows of one operation. All of it is read
// from the OpenAPI document, so that the document and the behaviour cannot differ.
type operation struct {
	id string
	// keyRequired and keyOptional say whether the operation takes an API key. Neither
	// means that it looks at none.
	keyRequired, keyOptional bool
	// idempotent operations take an Idempotency-Key.
	idempotent bool
	// streams says that the body is an upload, which is not held in memory.
	streams bool
	// malformed is how malformed input is answered: see problem.go.
	malformed malformedAnswer
}

// malformedAnswer is the value of x-validation-error in the document.
type malformedAnswer string

const (
	asValidationError malformedAnswer = ""               // HTTPValidationError
	asProblem         malformedAnswer = "problem"        // ErrorResponse
	asCursorProblem   malformedAnswer = "cursor_problem" // ErrorResponse for the cursor, else HTTPValidationError
)

// route is a method and a path as the document and the router both write it.
type route struct{ method, path string }

type operations map[route]*operation

// readOperations lists the document's operations by route.
func readOperations(doc *openapi3.T) (operations, error) {
	all := operations{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			read, err := readOperation(doc, op)
			if err != nil {
				return nil, fmt.Errorf("OpenAPI document, %s %s: %w", method, path, err)
			}
			all[route{method, path}] = read
		}
	}
	return all, nil
}

func readOperation(doc *openapi3.T, op *openapi3.Operation) (*operation, error) {
	read := &operation{id: op.OperationID}
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	for _, requirement := range security {
		if len(requirement) == 0 {
			read.keyOptional = true
		} else {
			read.keyRequired = true
		}
	}
	if read.keyOptional && read.keyRequired {
		read.keyRequired = false
	} else {
		read.keyOptional = false
	}
	for _, p := range op.Parameters {
		if p.Value.In == openapi3.ParameterInHeader && http.CanonicalHeaderKey(p.Value.Name) == idempotencyHeader {
			read.idempotent = true
		}
	}
	if op.RequestBody != nil {
		read.streams = op.RequestBody.Value.Content.Get("application/json") == nil
	}
	switch kind, _ := op.Extensions["x-validation-error"].(string); malformedAnswer(kind) {
	case asValidationError, asProblem, asCursorProblem:
		read.malformed = malformedAnswer(kind)
	default:
		return nil, fmt.Errorf("x-validation-error %q is unknown", kind)
	}
	return read, nil
}

type operationKey struct{}

// findOperation puts the operation that the router has matched into the context. It
// runs inside the router's group of operations, where the match is known.
func (s *Server) findOperation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op, ok := s.operations[route{r.Method, chi.RouteContext(r.Context()).RoutePattern()}]
		if !ok {
			s.fail(w, r, fmt.Errorf("no operation for the route %s %s", r.Method, chi.RouteContext(r.Context()).RoutePattern()))
			return
		}
		traceOf(r.Context()).operation = op.id
		// Answers are for their caller alone, and some hold keys.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operationKey{}, op)))
	})
}

// operationOf returns the operation being answered, nil outside of one.
func operationOf(ctx context.Context) *operation {
	op, _ := ctx.Value(operationKey{}).(*operation)
	return op
}
