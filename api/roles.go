package api

import (
	"net/http"

	"github.com/course-marketplace/backend/internal/market"
)

// Who may call what needs a role.
var (
	forAdmins    = []market.Role{market.RoleAdmin}
	forReviewers = []market.Role{market.RoleReviewer, market.RoleAdmin}
	forSupport   = []market.Role{market.RoleSupport, market.RoleAdmin}
)

// requiredRoles lists, by operation, the roles of which the caller's user needs one.
// Operations that are not listed need none.
var requiredRoles = map[string][]market.Role{
	"list_reports":                 forAdmins,
	"get_report_detail":            forAdmins,
	"dismiss_report":               forAdmins,
	"resolve_report":               forAdmins,
	"start_report_review":          forAdmins,
	"list_moderation_queue":        forAdmins,
	"get_course_moderation_detail": forAdmins,
	"block_course":                 forAdmins,
	"unblock_course":               forAdmins,
	"get_user_detail":              forAdmins,
	"suspend_user":                 forAdmins,
	"reactivate_user":              forAdmins,
	"get_agent_detail":             forAdmins,
	"suspend_agent":                forAdmins,
	"reactivate_agent":             forAdmins,
	"list_feature_flags":           forAdmins,
	"set_feature_flag":             forAdmins,

	"list_human_review_queue": forReviewers,
	"get_human_review_detail": forReviewers,
	"approve_human_review":    forReviewers,
	"reject_human_review":     forReviewers,
	"get_review_bundle":       forReviewers,

	"grant_credits":    forSupport,
	"list_payouts":     forSupport,
	"get_payout":       forSupport,
	"retry_payout":     forSupport,
	"freeze_account":   forSupport,
	"unfreeze_account": forSupport,
}

// authorize refuses callers that do not hold a role the operation needs.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		roles, needed := requiredRoles[operationOf(r.Context()).id]
		if needed && !principalOf(r.Context()).Has(roles...) {
			s.fail(w, r, market.Forbidden("role_required", "This operation is for users with another role.").With("roles", roles))
			return
		}
		next.ServeHTTP(w, r)
	})
}
