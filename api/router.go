package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/course-marketplace/backend/internal/market"
)

// How long a request may run: most of them, and those that bring an upload with them.
const (
	requestTimeout = 30 * time.Second
	uploadTimeout  = 5 * time.Minute
)

// Handler returns the router of everything the server answers.
//
// A request to an operation goes through, in this order:
//
//  1. withTrace: an id for the request, and where it comes from
//  2. accessLog, recoverPanics: one log line each, and an answer even after a defect
//  3. findOperation: which operation of the OpenAPI document the route is
//  4. withTimeout: it ends some time
//  5. authenticate: who calls (401, 403 for the suspended)
//  6. authorize, requireFlag: whether they may at all (403)
//  7. notYetBuilt: operations that come later (501)
//  8. validate: the input against the document (413, 415, 422)
//  9. idempotent: the first answer again for a repeated request
//  10. the generated handler, which calls the method named after the operation
func (s *Server) Handler() http.Handler {
	r := chi.NewRouter()
	r.Use(s.withTrace, s.accessLog, s.recoverPanics, headAsGet)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, &market.Error{Kind: market.KindNotFound, Code: "route_not_found", Detail: "There is nothing at this path; see /docs for what there is."})
	})
	r.MethodNotAllowed(s.methodNotAllowed)
	s.mountOperator(r)
	r.Method(http.MethodGet, "/openapi.json", OpenAPIHandler())
	r.Method(http.MethodGet, "/docs", DocsHandler())
	r.Method(http.MethodGet, "/docs/*", DocsHandler())
	r.Get("/docs/errors", s.answerErrorPage)
	r.Method(http.MethodGet, filesPath+"{ticket}", http.HandlerFunc(s.serveTicketFile))
	r.Group(func(r chi.Router) {
		r.Use(s.findOperation, s.withTimeout, s.authenticate, s.authorize, s.requireFlag, s.notYetBuilt, s.validate, s.idempotent)
		handlers := NewStrictHandlerWithOptions(s, nil, StrictHTTPServerOptions{
			RequestErrorHandlerFunc:  s.failBinding,
			ResponseErrorHandlerFunc: s.fail,
		})
		HandlerWithOptions(handlers, ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: s.failBinding})
	})
	return r
}

// headAsGet answers HEAD like GET; net/http leaves the body out. A single-use link knows
// no HEAD: it would use the link up.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && !strings.HasPrefix(r.URL.Path, filesPath) {
			asGet := *r
			asGet.Method = http.MethodGet
			r = &asGet
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) withTimeout(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeoutOf(operationOf(r.Context())))
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// failBinding answers what fits the document but not the Go types.
func (s *Server) failBinding(w http.ResponseWriter, r *http.Request, err error) {
	s.fail(w, r, BindingError(err))
}

func timeoutOf(op *operation) time.Duration {
	if op.streams {
		return uploadTimeout
	}
	return requestTimeout
}

// methodNotAllowed answers 405 with the methods that the path does have.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	routes := chi.RouteContext(r.Context()).Routes
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		asked := method
		if method == http.MethodHead && !strings.HasPrefix(r.URL.Path, filesPath) {
			asked = http.MethodGet
		}
		if routes.Match(chi.NewRouteContext(), asked, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.fail(w, r, &market.Error{Kind: kindMethodNotAllowed, Code: "method_not_allowed", Detail: "This path answers " + strings.Join(allowed, ", ") + "."})
}
