package api

import (
	"net/http"

	"github.com/course-marketplace/backend/internal/contract"
)

// ResponseValidator wraps a transport so that every answer which the OpenAPI
// document does not describe is reported. A test's client goes through it:
//
//	transport, err := api.ResponseValidator(http.DefaultTransport, t.Errorf)
func ResponseValidator(next http.RoundTripper, report func(format string, args ...any)) (http.RoundTripper, error) {
	c, err := Contract()
	if err != nil {
		return nil, err
	}
	return &contract.Transport{Contract: c, Next: next, Report: report}, nil
}
