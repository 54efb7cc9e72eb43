package api

import (
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/course-marketplace/backend/internal/contract"
	"github.com/course-marketplace/backend/internal/market"
)

//go:embed openapi.yaml
var document []byte

var loadContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.Load(document) })

// Contract is the service's OpenAPI document, ready to judge requests and
// responses by. It is read once per process; an error is a defect of the build.
func Contract() (*contract.Contract, error) { return loadContract() }

// ValidateRequests returns middleware that answers a request which breaks the
// document by calling refuse, with all of its problems in one
// *market.InvalidError, or with a *market.Error for a body of the wrong media
// type or size. What it lets through has the defaults of the body filled in; the
// defaults of query values are left to the handler.
//
// It looks the operation up by the route chi has matched, so it must run inside
// the route: give HandlerWithOptions a BaseRouter made with
// router.With(ValidateRequests(...)).
func ValidateRequests(refuse func(w http.ResponseWriter, r *http.Request, err error)) (func(http.Handler) http.Handler, error) {
	c, err := Contract()
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o := c.Operation(r.Method, chi.RouteContext(r.Context()).RoutePattern())
			if o == nil {
				next.ServeHTTP(w, r)
				return
			}
			checked, err := validate(o, w, r)
			if err != nil {
				refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, checked)
		})
	}, nil
}

func validate(o *contract.Operation, w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	problems := o.CheckParameters(r, func(name string) string { return pathValue(r, name) })
	checked, bodyProblems, err := o.ReadBody(w, r)
	if err != nil {
		return nil, err
	}
	if problems = append(problems, bodyProblems...); len(problems) > 0 {
		return nil, &market.InvalidError{Fields: problems}
	}
	return checked, nil
}

// pathValue is a path variable in plain text; chi leaves it escaped where the
// path was.
func pathValue(r *http.Request, name string) string {
	value := chi.URLParam(r, name)
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

// BindingError turns an error of the generated parameter and body binding into a
// *market.InvalidError. Validation comes first, so such an error is rare: a value
// that fits the document but not the Go type.
func BindingError(err error) error {
	var (
		format   *InvalidParamFormatError
		required *RequiredParamError
		header   *RequiredHeaderError
		many     *TooManyValuesForParamError
		badType  *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &format):
		return market.Invalid("invalid", "is not valid", "query", format.ParamName)
	case errors.As(err, &required):
		return market.Invalid("missing", "is required", "query", required.ParamName)
	case errors.As(err, &header):
		return market.Invalid("missing", "is required", "header", header.ParamName)
	case errors.As(err, &many):
		return market.Invalid("too_many_values", "may be given once only", "query", many.ParamName)
	case errors.As(err, &badType):
		return market.Invalid("type_error", "has the wrong type", "body", badType.Field)
	default:
		return market.Invalid("json_invalid", "is not valid", "body")
	}
}
