package worker_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker"
	"github.com/course-marketplace/backend/worker/workertest"
	"github.com/course-marketplace/backend/workflows"
)

// Every worker makes sure of the schedule when it starts; there is one all the same.
func TestHousekeepingIsScheduledOnce(t *testing.T) {
	t.Parallel()
	temporal := workertest.New(t, storetest.New(t).Store, workertest.Options{Idle: true})
	schedule := temporal.Client.ScheduleClient().GetHandle(t.Context(), workflows.HousekeepingSchedule)
	t.Cleanup(func() { _ = schedule.Delete(context.WithoutCancel(t.Context())) })
	for range 3 {
		if err := worker.EnsureSchedules(t.Context(), temporal.Client, temporal.TaskQueue); err != nil {
			t.Fatal(err)
		}
	}
	described, err := schedule.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	intervals := described.Schedule.Spec.Intervals
	if len(intervals) != 1 || intervals[0].Every != 10*time.Minute {
		t.Errorf("it runs at %+v", intervals)
	}
	action, ok := described.Schedule.Action.(*client.ScheduleWorkflowAction)
	if !ok || action.Workflow != "Housekeeping" || action.TaskQueue != temporal.TaskQueue {
		t.Errorf("it starts %+v", described.Schedule.Action)
	}
}
