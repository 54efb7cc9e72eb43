package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/course-marketplace/backend/internal/market"
)

// This file is the one place where errors become HTTP answers.

const (
	problemType = "application/problem+json"
	jsonType    = "application/json"

	codeValidation    = "validation_error"
	codeInvalidCursor = "invalid_cursor"
	codeInternal      = "internal_error"

	// statusClientClosed is what the log says of a request whose client went away; it
	// is the number that nginx made customary.
	statusClientClosed = 499
)

// kindMethodNotAllowed is HTTP's own affair; the domain knows no methods.
const kindMethodNotAllowed market.Kind = "method_not_allowed"

// statusOf gives each kind of error its status.
var statusOf = map[market.Kind]int{
	market.KindInvalid:         http.StatusUnprocessableEntity,
	market.KindUnauthenticated: http.StatusUnauthorized,
	market.KindPaymentRequired: http.StatusPaymentRequired,
	market.KindForbidden:       http.StatusForbidden,
	market.KindNotFound:        http.StatusNotFound,
	market.KindConflict:        http.StatusConflict,
	market.KindGone:            http.StatusGone,
	market.KindTooLarge:        http.StatusRequestEntityTooLarge,
	market.KindUnsupported:     http.StatusUnsupportedMediaType,
	market.KindRefused:         http.StatusUnprocessableEntity,
	market.KindRateLimited:     http.StatusTooManyRequests,
	market.KindNotImplemented:  http.StatusNotImplemented,
	market.KindUnavailable:     http.StatusServiceUnavailable,
	market.KindInternal:        http.StatusInternalServerError,
	kindMethodNotAllowed:       http.StatusMethodNotAllowed,
}

// fail answers a request with its error and keeps the error for the log.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	traceOf(r.Context()).failure = err
	var invalid *market.InvalidError
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		w.WriteHeader(statusClientClosed)
	case errors.As(err, &invalid):
		s.failInvalid(w, r, invalid)
	default:
		s.failProblem(w, r, asDomainError(err), err)
	}
}

// asDomainError returns the *market.Error inside err; whatever else err is becomes an
// internal error that tells the caller nothing of it.
func asDomainError(err error) *market.Error {
	if e, ok := market.AsError(err); ok && e.Kind != market.KindInternal {
		return e
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return bodyTooLarge(tooLarge.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return market.Unavailable("timeout", time.Second, "The request took too long; try again, with the same Idempotency-Key if it creates something.")
	}
	return &market.Error{Kind: market.KindInternal, Code: codeInternal,
		Detail: "Something went wrong on our side; name the request_id when you report it."}
}

// failInvalid answers malformed input in the form that the operation's document says.
func (s *Server) failInvalid(w http.ResponseWriter, r *http.Request, invalid *market.InvalidError) {
	form := asProblem
	if op := operationOf(r.Context()); op != nil {
		form = op.malformed
	}
	isCursor := invalid.Code == codeInvalidCursor
	if form == asValidationError || form == asCursorProblem && !isCursor {
		writeJSON(w, jsonType, http.StatusUnprocessableEntity, struct {
			Detail []market.FieldError `json:"detail"`
		}{invalid.Fields})
		return
	}
	e := &market.Error{Kind: market.KindInvalid, Code: codeValidation, Detail: "The request is malformed; details.errors lists every problem."}
	if isCursor {
		e.Code, e.Detail = codeInvalidCursor, "The cursor is not one of this list with these filters; begin again without it."
	}
	s.failProblem(w, r, e.With("errors", invalid.Fields), invalid)
}

// failProblem writes e as a problem document (RFC 9457). cause is the error as it
// came, with what it says of the headers.
func (s *Server) failProblem(w http.ResponseWriter, r *http.Request, e *market.Error, cause error) {
	status, ok := statusOf[e.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	h := w.Header()
	switch e.Kind {
	case market.KindUnauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case market.KindRateLimited, market.KindUnavailable, market.KindConflict:
		if e.RetryAfter > 0 || e.Kind != market.KindConflict {
			h.Set("Retry-After", seconds(max(e.RetryAfter, time.Second)))
		}
	}
	var limited *limitError
	if errors.As(cause, &limited) {
		limited.setHeaders(h)
	}
	writeJSON(w, problemType, status, ErrorResponse{
		Type: s.publicURL + "/docs/errors#" + e.Code, Title: http.StatusText(status), Status: status,
		Detail: e.Detail, Code: e.Code, RequestID: RequestID(r.Context()), Details: e.Details,
	})
}

// writeJSON encodes the whole body before it writes the status.
func writeJSON(w http.ResponseWriter, mediaType string, status int, body any) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		status = http.StatusInternalServerError
		buf.Reset()
		_, _ = fmt.Fprintf(&buf, `{"title":%q,"status":500,"code":%q}`, http.StatusText(status), codeInternal)
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = buf.WriteTo(w)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

func bodyTooLarge(limit int64) *market.Error {
	return &market.Error{Kind: market.KindTooLarge, Code: "body_too_large", Detail: fmt.Sprintf("The body may have at most %d bytes.", limit)}
}
