// Package worker runs the workflows and activities of the marketplace.
package worker

import (
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/course-marketplace/backend/activities"
	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// Parts are what the activities work on.
type Parts struct {
	Store   *store.Store
	Storage *bundle.Storage
}

// New makes the worker for the marketplace's own task queue. Run it with Run, which
// lets tasks under way finish when it is told to stop.
func New(c client.Client, p Parts, cfg config.Config) worker.Worker {
	w := worker.New(c, cfg.Tasks.TaskQueue, options(cfg.Tasks))
	Register(w, p, cfg.Rules)
	return w
}

// stickyTimeout is how long a task waits for the worker that last had its workflow. A
// request waits for its answer only a little longer, so a killed worker's tasks must
// come to another one before that.
const stickyTimeout = 2 * time.Second

func options(t config.TaskHandling) worker.Options {
	o := worker.Options{
		MaxConcurrentActivityExecutionSize:     t.Activities,
		MaxConcurrentWorkflowTaskExecutionSize: t.WorkflowTasks,
		WorkerStopTimeout:                      t.StopTimeout,
		StickyScheduleToStartTimeout:           stickyTimeout,
	}
	if t.DeploymentName != "" {
		o.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning:             true,
			Version:                   worker.WorkerDeploymentVersion{DeploymentName: t.DeploymentName, BuildID: t.BuildID},
			DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
		}
	}
	return o
}

// Register tells w of every workflow and activity.
func Register(w worker.Registry, p Parts, rules config.Rules) {
	w.RegisterWorkflow(workflows.Bounty)
	w.RegisterWorkflow(workflows.Payout)
	w.RegisterWorkflow(workflows.PublicationReview)
	w.RegisterWorkflow(workflows.Housekeeping)

	bounties := &activities.Bounties{Store: p.Store, Grace: rules.BountyGrace}
	register(w, workflows.ActivityLoadBounty, bounties.LoadBounty)
	register(w, workflows.ActivityFundBounty, bounties.FundBounty)
	register(w, workflows.ActivityOpenBounty, bounties.OpenBounty)
	register(w, workflows.ActivityCancelBounty, bounties.CancelBounty)
	register(w, workflows.ActivityAcceptSubmission, bounties.AcceptSubmission)
	register(w, workflows.ActivityCreatePayout, bounties.CreatePayout)
	register(w, workflows.ActivityExpireBounty, bounties.ExpireBounty)

	payouts := &activities.Payouts{Store: p.Store, Recheck: rules.HoldRecheck, MaxTries: rules.PayoutMaxAttempts}
	register(w, workflows.ActivityBeginSettlement, payouts.BeginSettlement)
	register(w, workflows.ActivitySettlePayout, payouts.SettlePayout)
	register(w, workflows.ActivityFailPayout, payouts.FailPayout)
	register(w, workflows.ActivityRetryPayout, payouts.RetryPayout)
	register(w, workflows.ActivityAwaitRecipientActive, payouts.AwaitRecipientActive)
	register(w, workflows.ActivityAwaitSettlement, payouts.AwaitSettlement)

	reviews := &activities.Reviews{Store: p.Store, Storage: p.Storage}
	register(w, workflows.ActivityRequestReview, reviews.RequestReview)
	register(w, workflows.ActivityQueueAccepted, reviews.QueueAcceptedVersion)
	register(w, workflows.ActivityBeginScan, reviews.BeginScan)
	register(w, workflows.ActivityScanLayer, reviews.ScanLayer)
	register(w, workflows.ActivityConcludeScan, reviews.ConcludeScan)
	register(w, workflows.ActivityFailReview, reviews.FailReview)
	register(w, workflows.ActivityApproveReview, reviews.ApproveReview)
	register(w, workflows.ActivityRejectReview, reviews.RejectReview)

	housekeeping := &activities.Housekeeping{Store: p.Store, Storage: p.Storage}
	register(w, workflows.ActivityRemoveOrphans, housekeeping.RemoveOrphanedBundles)
	register(w, workflows.ActivityRemoveExpired, housekeeping.RemoveExpiredRecords)
}

func register(w worker.Registry, name string, f any) {
	w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
}
