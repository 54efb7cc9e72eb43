package workflows_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/course-marketplace/backend/workflows"
)

// Runs that earlier code began must go on under today's: every recorded history is
// replayed, and a workflow that would decide otherwise fails the test. Package worker
// says how to record one.
func TestReplay(t *testing.T) {
	t.Parallel()
	histories, err := filepath.Glob("testdata/histories/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(histories) == 0 {
		t.Fatal("there are no histories")
	}
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	for _, path := range histories {
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflow(workflows.Bounty)
			replayer.RegisterWorkflow(workflows.Payout)
			replayer.RegisterWorkflow(workflows.PublicationReview)
			replayer.RegisterWorkflow(workflows.Housekeeping)
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, path); err != nil {
				t.Error(err)
			}
		})
	}
}
