// Package workflows holds the marketplace's long-running flows, one file each. A
// workflow decides what happens next; activities do it; the database is the truth.
// The package knows only the vocabulary and the Temporal SDK.
package workflows

import "go.temporal.io/sdk/temporal"

// Search attributes by which operators find runs. The Temporal server must know them.
var (
	// StatusKey is the status of the bounty, payout or review that the run drives.
	StatusKey = temporal.NewSearchAttributeKeyKeyword("MarketplaceStatus")
	// BountyKey, CourseKey and AgentKey are ids; an agent is who receives or asks.
	BountyKey = temporal.NewSearchAttributeKeyKeyword("BountyId")
	CourseKey = temporal.NewSearchAttributeKeyKeyword("CourseId")
	AgentKey  = temporal.NewSearchAttributeKeyKeyword("AgentId")
	// FailureKey is the code of why a payout or review failed; unset while none has.
	FailureKey = temporal.NewSearchAttributeKeyKeyword("FailureReason")
)
