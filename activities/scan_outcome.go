package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/scanner"
	"github.com/course-marketplace/backend/store"
)

// results reads back what the layers of a review's scan saw.
func (a *Reviews) results(ctx context.Context, reviewID uuid.UUID) ([]scanner.LayerResult, error) {
	rows, err := a.Store.ListReviewLayers(ctx, reviewID)
	if err != nil {
		return nil, err
	}
	results := make([]scanner.LayerResult, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row.Result, &results[i]); err != nil {
			return nil, fmt.Errorf("decode layer %s: %w", row.Layer, err)
		}
	}
	return results, nil
}

// scanOutcome is the report in the form in which the store keeps it.
func scanOutcome(r scanner.Report) (store.ScanOutcome, error) {
	o := store.ScanOutcome{
		ScannerVersion: r.ScannerVersion, RulePackVersion: r.RulePackVersion,
		Verdict: string(r.Verdict), RiskScore: int32(r.RiskScore), //nolint:gosec // 0 to 100
		FindingsCount: int32(min(len(r.Findings), math.MaxInt32)),
	}
	if len(r.Findings) > 0 {
		// Worst first.
		severity := string(r.Findings[0].Severity)
		o.HighestSeverity = &severity
	}
	c := r.Capabilities
	if c == nil {
		o.CapabilitiesStatus = string(scanner.CapabilitiesIndeterminate)
		return o, nil
	}
	o.CapabilitiesStatus = string(c.Status)
	o.CapabilityRiskScore = int32(c.RiskScore) //nolint:gosec // 0 to 100
	o.NeedsAcknowledgement = slices.ContainsFunc(c.Mismatches, func(m scanner.Mismatch) bool { return m.RequiresAcknowledgement })
	for _, field := range []struct {
		to    *json.RawMessage
		value any
		unset bool
	}{
		{to: &o.Mismatches, value: c.Mismatches},
		{to: &o.Declared, value: c.Declared, unset: c.Declared == nil},
		{to: &o.Observed, value: c.Observed},
		{to: &o.DeclarationPatch, value: c.Patch, unset: c.Patch == nil},
	} {
		if field.unset {
			continue
		}
		raw, err := json.Marshal(field.value)
		if err != nil {
			return o, fmt.Errorf("encode capabilities: %w", err)
		}
		*field.to = raw
	}
	return o, nil
}
