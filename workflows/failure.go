package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/course-marketplace/backend/internal/market"
)

// Failure is how a market.Error travels through Temporal: as the details of an
// application error whose type is the code, so that it arrives as it was made.
type Failure struct {
	Kind       market.Kind    `json:"kind"`
	Detail     string         `json:"detail"`
	Details    map[string]any `json:"details,omitempty"`
	RetryAfter time.Duration  `json:"retry_after,omitempty"`
}

// Fail makes the application error for a domain error. Only outages are worth a retry.
func Fail(e *market.Error) error {
	return temporal.NewApplicationErrorWithOptions(e.Detail, e.Code, temporal.ApplicationErrorOptions{
		NonRetryable: !e.Retryable(),
		Details:      []any{Failure{Kind: e.Kind, Detail: e.Detail, Details: e.Details, RetryAfter: e.RetryAfter}},
	})
}

// DomainError returns the domain error inside a workflow, update or activity failure.
func DomainError(err error) (*market.Error, bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || !application.HasDetails() {
		return nil, false
	}
	var f Failure
	if err := application.Details(&f); err != nil || f.Kind == "" {
		return nil, false //nolint:nilerr // an application error of another kind is no domain error
	}
	return &market.Error{Kind: f.Kind, Code: application.Type(), Detail: f.Detail, Details: f.Details, RetryAfter: f.RetryAfter}, true
}

// plain takes the domain error out of an activity failure, so that whoever asked for the
// update gets that and nothing about activities.
func plain(err error) error {
	if e, ok := DomainError(err); ok {
		return Fail(e)
	}
	return err
}
