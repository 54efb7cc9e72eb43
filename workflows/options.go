package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// transactionTimeout is far more than a transaction takes; it is also how long the work
// of a worker that was killed in the middle lies still.
const transactionTimeout = 10 * time.Second

// transaction runs an activity that is one short database transaction.
type transaction func(ctx workflow.Context, activity string, step any) workflow.Future

// requested is a transaction that an update asks for. It is an activity of its own, so
// that the update stands in the history before anything happens: whatever crashes from
// then on, the transaction is made and the workflow learns of it. An outage is retried
// for minutes, a refusal comes back at once.
func requested(summary string) transaction {
	return func(ctx workflow.Context, activity string, step any) workflow.Future {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ScheduleToCloseTimeout: 10 * time.Minute,
			StartToCloseTimeout:    transactionTimeout,
			RetryPolicy:            transactionRetries(),
			Summary:                summary,
		}), activity, step)
	}
}

// decided is a transaction that the workflow itself has come to: it has to happen however
// long an outage lasts. It is a local activity, which saves a round trip; the workflow
// task that a crash leaves unfinished is done again, and the transaction recognises itself.
func decided(summary string) transaction {
	return func(ctx workflow.Context, activity string, step any) workflow.Future {
		return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			ScheduleToCloseTimeout: 365 * 24 * time.Hour,
			StartToCloseTimeout:    transactionTimeout,
			RetryPolicy:            transactionRetries(),
			Summary:                summary,
		}), activity, step)
	}
}

func transactionRetries() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second}
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
