package market

// The enumerations of the marketplace. The first value of each is its default.
// The database holds the same sets as CHECK constraints, the OpenAPI document as enums.

// AccountStatus is the status of a user or an agent.
type AccountStatus string

// The statuses of users and agents.
const (
	AccountActive    AccountStatus = "active"
	AccountSuspended AccountStatus = "suspended"
)

// Role is what a user may do beyond acting for itself. Its agents act with it.
type Role string

// The roles.
const (
	RoleAdmin    Role = "admin"
	RoleReviewer Role = "reviewer"
	RoleSupport  Role = "support"
)

// Roles lists every role.
var Roles = []Role{RoleAdmin, RoleReviewer, RoleSupport}

// CourseStatus is where a course stands.
type CourseStatus string

// The statuses of courses.
const (
	CourseDraft     CourseStatus = "draft"
	CourseInReview  CourseStatus = "in_review"
	CoursePublished CourseStatus = "published"
	CourseBlocked   CourseStatus = "blocked"
	CourseArchived  CourseStatus = "archived"
)

// Visibility is who may see a published course.
type Visibility string

// The visibilities.
const (
	VisibilityPrivate  Visibility = "private"
	VisibilityUnlisted Visibility = "unlisted"
	VisibilityPublic   Visibility = "public"
)

// VersionStatus is what has become of an uploaded version.
type VersionStatus string

// The statuses of course versions.
const (
	VersionUploaded  VersionStatus = "uploaded"
	VersionInReview  VersionStatus = "in_review"
	VersionPublished VersionStatus = "published"
	VersionRejected  VersionStatus = "rejected"
)

// BountyStatus is where a bounty stands.
type BountyStatus string

// The statuses of bounties.
const (
	BountyDraft     BountyStatus = "draft"
	BountyOpen      BountyStatus = "open"
	BountyAwarded   BountyStatus = "awarded"
	BountyPaid      BountyStatus = "paid"
	BountyCancelled BountyStatus = "cancelled"
	BountyExpired   BountyStatus = "expired"
)

// Final reports whether a bounty in this status can no longer change.
func (s BountyStatus) Final() bool {
	return s == BountyPaid || s == BountyCancelled || s == BountyExpired
}

// FundingStatus is where the reward of a bounty is.
type FundingStatus string

// The funding statuses.
const (
	FundingUnfunded FundingStatus = "unfunded"
	FundingPending  FundingStatus = "pending"
	FundingFunded   FundingStatus = "funded"
	FundingReleased FundingStatus = "released"
	FundingRefunded FundingStatus = "refunded"
	FundingFailed   FundingStatus = "failed"
)

// SubmissionStatus is where a submission to a bounty stands.
type SubmissionStatus string

// The statuses of submissions.
const (
	SubmissionSubmitted   SubmissionStatus = "submitted"
	SubmissionAccepted    SubmissionStatus = "accepted"
	SubmissionRejected    SubmissionStatus = "rejected"
	SubmissionWithdrawn   SubmissionStatus = "withdrawn"
	SubmissionNotSelected SubmissionStatus = "not_selected"
)

// PayoutStatus is where a payout stands.
type PayoutStatus string

// The statuses of payouts.
const (
	PayoutPending   PayoutStatus = "pending"
	PayoutHeld      PayoutStatus = "held"
	PayoutSubmitted PayoutStatus = "submitted"
	PayoutSettled   PayoutStatus = "settled"
	PayoutFailed    PayoutStatus = "failed"
	PayoutReversed  PayoutStatus = "reversed"
)

// Final reports whether a payout in this status can no longer change by itself.
func (s PayoutStatus) Final() bool { return s == PayoutSettled || s == PayoutReversed }

// ReviewStatus is where a publication review stands.
type ReviewStatus string

// The statuses of publication reviews.
const (
	ReviewQueued      ReviewStatus = "queued"
	ReviewScanning    ReviewStatus = "scanning"
	ReviewHumanReview ReviewStatus = "human_review"
	ReviewApproved    ReviewStatus = "approved"
	ReviewRejected    ReviewStatus = "rejected"
	ReviewFailed      ReviewStatus = "failed"
	ReviewCancelled   ReviewStatus = "cancelled"
)

// Final reports whether a review in this status is over.
func (s ReviewStatus) Final() bool {
	return s == ReviewApproved || s == ReviewRejected || s == ReviewFailed || s == ReviewCancelled
}

// NotificationType says what a notification is about, as "subject.event".
type NotificationType string

// The types of notifications.
const (
	NotifyBountyFunded          NotificationType = "bounty.funded"
	NotifyBountyCancelled       NotificationType = "bounty.cancelled"
	NotifyBountyExpired         NotificationType = "bounty.expired"
	NotifySubmissionReceived    NotificationType = "bounty.submission_received"
	NotifySubmissionWithdrawn   NotificationType = "bounty.submission_withdrawn"
	NotifySubmissionAccepted    NotificationType = "bounty.submission_accepted"
	NotifySubmissionRejected    NotificationType = "bounty.submission_rejected"
	NotifySubmissionNotSelected NotificationType = "bounty.submission_not_selected"
	NotifyPayoutHeld            NotificationType = "payout.held"
	NotifyPayoutSettled         NotificationType = "payout.settled"
	NotifyPayoutFailed          NotificationType = "payout.failed"
	NotifyReviewHumanReview     NotificationType = "course_review.human_review"
	NotifyReviewApproved        NotificationType = "course_review.approved"
	NotifyReviewRejected        NotificationType = "course_review.rejected"
	NotifyReviewFailed          NotificationType = "course_review.failed"
	NotifyAPIKeyRotated         NotificationType = "agent.api_key_rotated"
	NotifyReferralAttributed    NotificationType = "referral.attributed"
)

// LedgerKind says why money moved.
type LedgerKind string

// The kinds of ledger transactions.
const (
	LedgerGrant          LedgerKind = "grant"
	LedgerEscrowFunded   LedgerKind = "escrow_funded"
	LedgerEscrowRefunded LedgerKind = "escrow_refunded"
	LedgerPayout         LedgerKind = "payout"
	LedgerPurchase       LedgerKind = "purchase"
	LedgerReferralReward LedgerKind = "referral_reward"
)

// AccountKind says what a ledger account holds.
type AccountKind string

// The kinds of ledger accounts.
const (
	AccountAgentAvailable     AccountKind = "agent.available"
	AccountAgentPayable       AccountKind = "agent.payable"
	AccountBountyEscrow       AccountKind = "bounty.escrow"
	AccountPlatformFees       AccountKind = "platform.fees"
	AccountPlatformPromotions AccountKind = "platform.promotions"
	AccountPlatformExternal   AccountKind = "platform.external"
)

// The feature flags.
const (
	FlagResourceReadSurface = "resource_read_surface"
	FlagCatalogIngestion    = "ai_catalog.ingestion"
)
