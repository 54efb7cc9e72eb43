// Package client speaks to the service in the types of its contract. The
// methods and models are generated from api/openapi.yaml; this file adds the
// credential and turns refusals into errors.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// New returns a client of the service at baseURL that acts with apiKey. An empty
// key calls the operations that need none. Options such as WithHTTPClient and
// WithRequestEditorFn adapt it.
func New(baseURL, apiKey string, options ...ClientOption) (*ClientWithResponses, error) {
	if apiKey != "" {
		options = append([]ClientOption{WithRequestEditorFn(authorize(apiKey))}, options...)
	}
	return NewClientWithResponses(strings.TrimSuffix(baseURL, "/"), options...)
}

func authorize(apiKey string) RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+apiKey)
		return nil
	}
}

// Result is what every ...WithResponse method returns.
type Result interface {
	StatusCode() int
	GetBody() []byte
}

// OK wraps a call so that a refusal becomes an error of type *Problem:
//
//	created, err := client.OK(c.CreateBountyWithResponse(ctx, nil, body))
func OK[R Result](result R, err error) (R, error) {
	if err != nil {
		return result, err
	}
	if status := result.StatusCode(); status < 200 || status > 299 {
		return result, ProblemFrom(status, result.GetBody())
	}
	return result, nil
}

// Problem is a refusal of the service. Fields lists what is wrong with a
// malformed request; RequestID is what to name in a question to support.
type Problem struct {
	Status    int
	Code      string
	Title     string
	Detail    string
	RequestID string
	Details   map[string]any
	Fields    []ValidationErrorItem
}

// ProblemFrom reads a refusal out of a response. Any body gives a Problem, for a
// proxy in between may answer in its own way.
func ProblemFrom(status int, body []byte) *Problem {
	p := &Problem{Status: status, Code: "unexpected_response", Title: http.StatusText(status)}
	var malformed HTTPValidationError
	if json.Unmarshal(body, &malformed) == nil && len(malformed.Detail) > 0 {
		p.Code, p.Fields = "validation_error", malformed.Detail
		return p
	}
	var problem ErrorResponse
	if json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		return p
	}
	p.Code, p.Title, p.Detail = problem.Code, problem.Title, problem.Detail
	p.RequestID, p.Details = problem.RequestID, problem.Details
	p.Fields = fieldsOf(problem.Details)
	return p
}

// fieldsOf reads the items that a problem document lists under details.errors.
func fieldsOf(details map[string]any) []ValidationErrorItem {
	raw, err := json.Marshal(details["errors"])
	if err != nil {
		return nil
	}
	var fields []ValidationErrorItem
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// Error names the status, the code and what to do, and the request's id.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, p.Code)
	if p.Detail != "" {
		fmt.Fprintf(&b, ": %s", p.Detail)
	}
	for _, f := range p.Fields {
		fmt.Fprintf(&b, "; %v %s", f.Loc, f.Msg)
	}
	if p.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", p.RequestID)
	}
	return b.String()
}
