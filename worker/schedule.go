package worker

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/course-marketplace/backend/workflows"
)

// EnsureSchedules creates the schedules that the marketplace needs, unless they exist.
func EnsureSchedules(ctx context.Context, c client.Client, taskQueue string) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   workflows.HousekeepingSchedule,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: workflows.HousekeepingInterval}}},
		Action: &client.ScheduleWorkflowAction{
			ID:            workflows.HousekeepingSchedule,
			Workflow:      workflows.Housekeeping,
			TaskQueue:     taskQueue,
			StaticSummary: "Remove cut-off uploads and expired records",
		},
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("create the schedule %s: %w", workflows.HousekeepingSchedule, err)
	}
	return nil
}
