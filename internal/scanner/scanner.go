// Package scanner reads a course or skill bundle and says what a reviewer should
// look at: text that tries to steer the agent, code that does more than it says,
// secrets, risky dependencies, and the difference between declared and observed
// capabilities. It executes nothing. Each layer runs on its own, so a workflow can
// give each its own activity; Scan runs them all in one process.
package scanner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Version is the engine's version, reported with every scan.
const Version = "1.0.0"

// Layer names.
const (
	LayerStructure    = "structure"
	LayerStatic       = "static"
	LayerSecrets      = "secrets"
	LayerDependencies = "dependencies"
	LayerBehavioral   = "behavioral"
	LayerCapabilities = "capabilities"
)

// Status says how far a layer got.
type Status string

// The states of a layer's result. Indeterminate outranks findings: something
// could not be read, so the absence of findings there proves nothing.
const (
	StatusClean         Status = "clean"
	StatusFindings      Status = "findings"
	StatusIndeterminate Status = "indeterminate"
)

// Progress is told after each file; it must be cheap and safe to call often.
type Progress func(done, total int, path string)

// Layer is one independent way of looking at a bundle.
type Layer struct {
	Name string
	// Limit is how long the layer may take before it reports itself indeterminate.
	Limit time.Duration
	visit func(*visit) // looks at one file
	after func(*run)   // looks at the bundle as a whole, once every file was visited
	// newState makes what visit needs to remember between files.
	newState func() any
}

// LayerResult is what a layer saw. It is plain data and survives JSON.
type LayerResult struct {
	Layer        string            `json:"layer"`
	Status       Status            `json:"status"`
	Findings     []Finding         `json:"findings"`
	Observed     []Observation     `json:"observed,omitempty"`
	Capabilities *CapabilityReport `json:"capabilities,omitempty"`
	Wording      *WordingReport    `json:"wording,omitempty"`
	FilesScanned int               `json:"files_scanned"`
	DurationMS   int64             `json:"duration_ms"`
}

// Layers returns the layers that depend on nothing but the bundle and may run in
// parallel. The capabilities layer compares what these observed: see RunCapabilities.
func Layers() []Layer {
	// The slowest first, so that two at a time end together.
	return []Layer{behavioralLayer(), staticLayer(), secretsLayer(), structureLayer(), dependenciesLayer()}
}

// run is one layer's pass over one bundle.
type run struct {
	layer    Layer
	bundle   *Bundle
	state    any
	findings *collector
	observed *observations
	wording  *WordingReport
	scanned  int
}

// visit is one layer's look at one file.
type visit struct {
	*run
	ctx  context.Context
	file File
	info fileInfo
	// signals gathers the static layer's weak signs within one section.
	signals *section
}

// Run looks at every file in turn, one in memory at a time. It returns an error
// only when ctx is cancelled by the caller; what a layer can't read or has no time
// for is an indeterminate finding.
func (l Layer) Run(ctx context.Context, b *Bundle, progress Progress) (LayerResult, error) {
	began := time.Now()
	r := &run{layer: l, bundle: b, findings: newCollector(l.Name), observed: newObservations()}
	if l.newState != nil {
		r.state = l.newState()
	}
	limited, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	for i, f := range b.Files {
		if limited.Err() != nil {
			break
		}
		r.visitFile(limited, f)
		if progress != nil {
			progress(i+1, len(b.Files), f.Path)
		}
	}
	if err := ctx.Err(); err != nil {
		return LayerResult{}, fmt.Errorf("scan layer %s: %w", l.Name, err)
	}
	if limited.Err() != nil {
		r.findings.indeterminate("", "time_limit", fmt.Sprintf("The layer's time limit of %s ended before every file was read.", l.Limit))
	}
	r.finish()
	return r.result(began), nil
}

func (r *run) finish() {
	if r.layer.after == nil {
		return
	}
	defer r.recoverInto("")
	r.layer.after(r)
}

// visitFile keeps a defect that one hostile file provokes from ending the scan:
// that file becomes indeterminate, the rest is still read.
func (r *run) visitFile(ctx context.Context, f File) {
	defer r.recoverInto(f.Path)
	r.scanned++
	info, err := r.bundle.inspect(f)
	if err != nil {
		r.findings.indeterminate(f.Path, "unreadable", "The file could not be read: "+readReason(err))
		return
	}
	r.layer.visit(&visit{run: r, ctx: ctx, file: f, info: info})
}

func (r *run) recoverInto(path string) {
	if p := recover(); p != nil {
		slog.Error("scanner layer panicked", "layer", r.layer.Name, "path", path, "panic", p, "stack", string(debug.Stack()))
		r.findings.indeterminate(path, "defect", "The scanner failed on this file and could not finish reading it.")
	}
}

func (r *run) result(began time.Time) LayerResult {
	findings := r.findings.finish()
	return LayerResult{
		Layer:        r.layer.Name,
		Status:       statusOf(findings),
		Findings:     findings,
		Observed:     r.observed.list(),
		Wording:      r.wording,
		FilesScanned: r.scanned,
		DurationMS:   time.Since(began).Milliseconds(),
	}
}

func statusOf(findings []Finding) Status {
	status := StatusClean
	for _, f := range findings {
		if f.Category == CategoryIndeterminate {
			return StatusIndeterminate
		}
		if f.Outcome != OutcomePass {
			status = StatusFindings
		}
	}
	return status
}

// Scan runs every layer, the independent ones in parallel, and assembles the report.
func Scan(ctx context.Context, b *Bundle, progress Progress) (Report, error) {
	layers := Layers()
	results := make([]LayerResult, len(layers))
	errs := make([]error, len(layers))
	// Two at a time bounds memory: each layer holds one file.
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, l := range layers {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i], errs[i] = l.Run(ctx, b, progress)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return Report{}, err
	}
	capabilities, err := RunCapabilities(ctx, b, results)
	if err != nil {
		return Report{}, err
	}
	return Assemble(slices.Concat(results, []LayerResult{capabilities})), nil
}
