// Package activities does what the workflows decide: transactions in Postgres and
// calls to the outside. There is one struct of dependencies per area; every method is
// safe to run again.
package activities

import (
	"context"
	"errors"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/workflows"
)

// fail translates an error for Temporal: a refusal of the domain is final, an outage or
// a defect is retried.
func fail(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if e, ok := market.AsError(err); ok {
		return workflows.Fail(e)
	}
	return err
}
