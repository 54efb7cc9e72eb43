package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/scanner"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/workflows"
)

// Reviews makes the transitions of publication reviews and runs the scanner's layers.
type Reviews struct {
	Store   *store.Store
	Storage *bundle.Storage
}

// RequestReview queues the review.
func (a *Reviews) RequestReview(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	return reviewState(a.Store.RequestReview(ctx, s.ReviewID, s.CourseID, store.Actor{AgentID: s.ActorAgentID, RequestKey: s.RequestKey}))
}

// QueueAcceptedVersion queues the review of the version that a bounty's accepted
// submission proposes.
func (a *Reviews) QueueAcceptedVersion(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	return reviewState(a.Store.QueueAcceptedVersion(ctx, s.ReviewID, s.BountyID))
}

// BeginScan marks the review as being scanned and says which layers to run.
func (a *Reviews) BeginScan(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	state, err := reviewState(a.Store.BeginScan(ctx, s.ReviewID))
	for _, layer := range scanner.Layers() {
		state.Layers = append(state.Layers, layer.Name)
	}
	return state, err
}

// FailReview records that the scan could not be completed.
func (a *Reviews) FailReview(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	return reviewState(a.Store.FailReview(ctx, s.ReviewID, s.FailureCode))
}

// ApproveReview publishes the version under review.
func (a *Reviews) ApproveReview(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	return reviewState(a.Store.ApproveReview(ctx, s.ReviewID,
		store.Approval{Acknowledged: s.Decision.Acknowledged, Notes: s.Decision.Notes}, reviewer(s)))
}

// RejectReview declines to publish.
func (a *Reviews) RejectReview(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	d := store.Rejection{Reason: s.Decision.Reason, CapabilityReasonCode: s.Decision.CapabilityReasonCode}
	if s.Decision.Notes != nil {
		d.Notes = *s.Decision.Notes
	}
	return reviewState(a.Store.RejectReview(ctx, s.ReviewID, d, reviewer(s)))
}

func reviewer(s workflows.ReviewStep) store.Reviewer {
	return store.Reviewer{Actor: store.Actor{AgentID: s.Decision.ReviewerAgentID, RequestKey: s.RequestKey}, UserID: s.Decision.ReviewerUserID}
}

// ScanLayer has one layer read every file of the version and keeps what it saw in the
// database, so that nothing of the bundle passes through the workflow.
func (a *Reviews) ScanLayer(ctx context.Context, s workflows.LayerScan) (workflows.LayerOutcome, error) {
	version, err := a.Store.GetVersion(ctx, s.VersionID)
	if err != nil {
		return workflows.LayerOutcome{}, fail(err)
	}
	files := openStored(ctx, a.Storage, version)
	defer files.close()
	progress, stop := heartbeat(ctx)
	defer stop()
	result, err := a.runLayer(ctx, s, files.Bundle, progress)
	if storage := files.failure(); storage != nil {
		err = storage
	}
	if err != nil {
		return workflows.LayerOutcome{}, fail(err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return workflows.LayerOutcome{}, fmt.Errorf("encode layer %s: %w", s.Layer, err)
	}
	if err := a.Store.SaveReviewLayer(ctx, s.ReviewID, s.Layer, raw); err != nil {
		return workflows.LayerOutcome{}, fail(err)
	}
	return workflows.LayerOutcome{Layer: s.Layer, Status: string(result.Status), Findings: notPassed(result.Findings)}, nil
}

func notPassed(findings []scanner.Finding) int {
	n := 0
	for _, f := range findings {
		if f.Outcome != scanner.OutcomePass {
			n++
		}
	}
	return n
}

func (a *Reviews) runLayer(ctx context.Context, s workflows.LayerScan, files *scanner.Bundle, progress scanner.Progress) (scanner.LayerResult, error) {
	if s.Layer == workflows.CapabilitiesLayer {
		seen, err := a.results(ctx, s.ReviewID)
		if err != nil {
			return scanner.LayerResult{}, err
		}
		return scanner.RunCapabilities(ctx, files, seen)
	}
	layers := scanner.Layers()
	i := slices.IndexFunc(layers, func(l scanner.Layer) bool { return l.Name == s.Layer })
	if i < 0 {
		return scanner.LayerResult{}, market.Refused("layer_unknown", "This worker has no scanner layer %s.", s.Layer)
	}
	return layers[i].Run(ctx, files, progress)
}

// heartbeat tells Temporal every second how far a layer is, until it is stopped: also
// while one large file takes long, for which the layers have time limits of their own.
func heartbeat(ctx context.Context) (progress scanner.Progress, stop func()) {
	var latest atomic.Value
	latest.Store("opening the bundle")
	ctx, stop = context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx, latest.Load())
			}
		}
	}()
	return func(done, total int, path string) {
		latest.Store(fmt.Sprintf("%d of %d files: %s", done, total, path))
	}, stop
}

// ConcludeScan assembles what the layers saw and hands the review to the reviewers.
func (a *Reviews) ConcludeScan(ctx context.Context, s workflows.ReviewStep) (workflows.ReviewState, error) {
	results, err := a.results(ctx, s.ReviewID)
	if err != nil {
		return workflows.ReviewState{}, fail(err)
	}
	outcome, err := scanOutcome(scanner.Assemble(results))
	if err != nil {
		return workflows.ReviewState{}, err
	}
	return reviewState(a.Store.ConcludeScan(ctx, s.ReviewID, outcome))
}

func reviewState(r store.Review, err error) (workflows.ReviewState, error) {
	if err != nil {
		return workflows.ReviewState{}, fail(err)
	}
	state := workflows.ReviewState{Status: r.Status, VersionID: r.VersionID, Findings: r.FindingsCount}
	if r.Verdict != nil {
		state.Verdict, state.RiskScore = *r.Verdict, *r.RiskScore
	}
	return state, nil
}
