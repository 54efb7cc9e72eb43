package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// transactionTimeout is far more than a transaction takes; it is also how long the work
// of a worker that was killed in the middle lies still.
const transactionTimeout = 10 * time.Second

// transactionOptions are for one short database transaction that an agent waits for,
// run as a local activity: an outage is retried for minutes, a refusal comes back at once.
func transactionOptions(ctx workflow.Context, summary string) workflow.Context {
	return localOptions(ctx, summary, 10*time.Minute)
}

// insistentOptions are for a transaction that the workflow itself decides on: it has
// to happen however long an outage lasts.
func insistentOptions(ctx workflow.Context, summary string) workflow.Context {
	return localOptions(ctx, summary, 365*24*time.Hour)
}

func localOptions(ctx workflow.Context, summary string, patience time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: patience,
		StartToCloseTimeout:    transactionTimeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		Summary:                summary,
	})
}

// pollOptions are for an activity that fails until something has happened: the server
// retries it without growing the history.
func pollOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: transactionTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 1.5, MaximumInterval: time.Minute},
		Summary:             summary,
	})
}

// persistentOptions are for a step that must happen in the end, however long an outage lasts.
func persistentOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: transactionTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
		Summary:             summary,
	})
}
