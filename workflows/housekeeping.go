package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// HousekeepingSchedule is the id of the schedule that runs Housekeeping, and the prefix
// of its runs' ids.
const HousekeepingSchedule = "housekeeping"

// HousekeepingInterval is how often it runs.
const HousekeepingInterval = 10 * time.Minute

// The activities of Housekeeping. Each answers with how much it has removed.
const (
	ActivityRemoveOrphans = "RemoveOrphanedBundles"
	ActivityRemoveExpired = "RemoveExpiredRecords"
)

// HousekeepingReport says how much was removed.
type HousekeepingReport struct {
	// OrphanedVersions had files in storage and no row: their upload was cut off.
	OrphanedVersions int `json:"orphaned_versions"`
	// ExpiredRecords are idempotency keys, rate limit windows and file tickets.
	ExpiredRecords int64 `json:"expired_records"`
}

// Housekeeping removes what cut-off uploads and the passing of time leave behind.
func Housekeeping(ctx workflow.Context) (HousekeepingReport, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 3},
	})
	var report HousekeepingReport
	orphans := workflow.ExecuteActivity(ctx, ActivityRemoveOrphans)
	expired := workflow.ExecuteActivity(ctx, ActivityRemoveExpired)
	if err := orphans.Get(ctx, &report.OrphanedVersions); err != nil {
		return report, err
	}
	return report, expired.Get(ctx, &report.ExpiredRecords)
}
