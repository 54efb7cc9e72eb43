package workflows_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/course-marketplace/backend/workflows"
)

func newHousekeeping(orphans, expired func() error) *testsuite.TestWorkflowEnvironment {
	env := newEnvironment()
	env.RegisterActivityWithOptions(func(context.Context) (int, error) { return 2, orphans() }, activity.RegisterOptions{Name: workflows.ActivityRemoveOrphans})
	env.RegisterActivityWithOptions(func(context.Context) (int64, error) { return 30, expired() }, activity.RegisterOptions{Name: workflows.ActivityRemoveExpired})
	return env
}

func TestHousekeepingReports(t *testing.T) {
	t.Parallel()
	failures := 2
	flaky := func() error {
		if failures--; failures >= 0 {
			return errors.New("storage is away")
		}
		return nil
	}
	env := newHousekeeping(flaky, func() error { return nil })
	env.ExecuteWorkflow(workflows.Housekeeping)
	var report workflows.HousekeepingReport
	if err := env.GetWorkflowResult(&report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(workflows.HousekeepingReport{OrphanedVersions: 2, ExpiredRecords: 30}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// Storage that is away keeps nobody from removing expired records; the failed run tells
// the operator, and the next one tries again.
func TestHousekeepingFailsVisibly(t *testing.T) {
	t.Parallel()
	swept := false
	env := newHousekeeping(func() error { return errors.New("storage is away") }, func() error { swept = true; return nil })
	env.ExecuteWorkflow(workflows.Housekeeping)
	if env.GetWorkflowError() == nil || !swept {
		t.Errorf("ended with %v, expired records removed: %v", env.GetWorkflowError(), swept)
	}
}
