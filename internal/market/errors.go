// Package market is the vocabulary of the marketplace: the kinds of errors, the
// enumerations, the state machines and the arithmetic of money. It imports the
// standard library alone, so every other package can speak it.
package market

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Kind says what sort of failure an Error is. Every kind has exactly one HTTP
// status (see api/problem.go) and is either worth retrying or not.
type Kind string

// The kinds of errors.
const (
	KindInvalid         Kind = "invalid"          // malformed input: 422
	KindUnauthenticated Kind = "unauthenticated"  // missing or bad credential: 401
	KindPaymentRequired Kind = "payment_required" // entitlement required: 402
	KindForbidden       Kind = "forbidden"        // may be seen, may not be done: 403
	KindNotFound        Kind = "not_found"        // absent, or not to be known of: 404
	KindConflict        Kind = "conflict"         // the state does not allow it: 409
	KindGone            Kind = "gone"             // was there, is used up or expired: 410
	KindTooLarge        Kind = "too_large"        // body over a limit: 413
	KindUnsupported     Kind = "unsupported"      // wrong media type: 415
	KindRefused         Kind = "refused"          // well-formed, refused by a rule: 422
	KindRateLimited     Kind = "rate_limited"     // too many requests: 429
	KindNotImplemented  Kind = "not_implemented"  // no such capability yet: 501
	KindUnavailable     Kind = "unavailable"      // try again later: 503
	KindInternal        Kind = "internal"         // a defect: 500
)

// Error is a failure in the marketplace's own terms. Code is stable, snake_case
// and documented in docs/error-codes.md; Detail is one sentence that tells the
// caller what to do about it and never contains a secret.
type Error struct {
	Kind    Kind
	Code    string
	Detail  string
	Details map[string]any
	// RetryAfter is set on KindRateLimited and KindUnavailable: how long to wait.
	RetryAfter time.Duration
	// Cause is for logs only; it never reaches a caller.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s (%s): %s: %v", e.Code, e.Kind, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s (%s): %s", e.Code, e.Kind, e.Detail)
}

func (e *Error) Unwrap() error { return e.Cause }

// With returns a copy of e that carries one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[key] = value
	return &c
}

// Retryable reports whether the same call may succeed later without anybody
// changing anything: only outages are.
func (e *Error) Retryable() bool {
	return e.Kind == KindUnavailable || e.Kind == KindInternal
}

// AsError returns the *Error inside err, if there is one.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// HasCode reports whether err is an *Error with the given code.
func HasCode(err error, code string) bool {
	e, ok := AsError(err)
	return ok && e.Code == code
}

func newError(kind Kind, code, format string, args []any) *Error {
	return &Error{Kind: kind, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// NotFound is for what does not exist and for what the caller may not know of.
// The code is "<what>_not_found".
func NotFound(what string) *Error {
	return &Error{Kind: KindNotFound, Code: what + "_not_found", Detail: "There is no such " + spaced(what) + ", or you may not see it."}
}

// Forbidden is for what the caller may see but not do.
func Forbidden(code, format string, args ...any) *Error {
	return newError(KindForbidden, code, format, args)
}

// Conflict is a state that does not allow the operation (409).
func Conflict(code, format string, args ...any) *Error {
	return newError(KindConflict, code, format, args)
}

// Refused is a well-formed request that a rule of the domain refuses (422).
func Refused(code, format string, args ...any) *Error {
	return newError(KindRefused, code, format, args)
}

// Unauthenticated is a missing or bad credential.
func Unauthenticated(code, format string, args ...any) *Error {
	return newError(KindUnauthenticated, code, format, args)
}

// Unavailable is an outage of a part this service depends on.
func Unavailable(code string, retryAfter time.Duration, format string, args ...any) *Error {
	e := newError(KindUnavailable, code, format, args)
	e.RetryAfter = retryAfter
	return e
}

// RateLimited is one request too many.
func RateLimited(code string, retryAfter time.Duration, format string, args ...any) *Error {
	e := newError(KindRateLimited, code, format, args)
	e.RetryAfter = retryAfter
	return e
}

// FieldError is one problem of one input value. Loc is the way to it, beginning
// with "body", "query", "path" or "header".
type FieldError struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// InvalidError lists every problem of a malformed request.
type InvalidError struct {
	Fields []FieldError
	// Code replaces "validation_error" where the answer is a problem document.
	Code string
}

func (e *InvalidError) Error() string {
	if len(e.Fields) == 0 {
		return "invalid input"
	}
	return fmt.Sprintf("invalid input: %v %s", e.Fields[0].Loc, e.Fields[0].Msg)
}

// Invalid is a malformed value at loc.
func Invalid(typ, msg string, loc ...any) *InvalidError {
	return &InvalidError{Fields: []FieldError{{Loc: loc, Msg: msg, Type: typ}}}
}

func spaced(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '_' {
			b[i] = ' '
		}
	}
	return string(b)
}
