package api

import (
	"net/http"
	"slices"

	"github.com/course-marketplace/backend/internal/market"
)

// laterOperations are in the contract but not in this server yet. They are refused
// where they would run: after the caller is known and may call them.
var laterOperations = []string{
	"get_codehost_identity", "revoke_codehost_identity", "begin_codehost_authorization", "complete_codehost_callback",
	"begin_codehost_device_flow", "poll_codehost_device_flow", "open_submission_pr",

	"list_resources", "get_resource", "list_resource_versions", "get_acquisition_plan", "create_artifact_download",
	"purchase_resource", "ingest_catalog_entries", "get_ai_catalog",

	"create_report", "list_reports", "get_report_detail", "dismiss_report", "resolve_report", "start_report_review",
	"list_moderation_queue", "get_course_moderation_detail", "block_course", "unblock_course",
	"get_user_detail", "suspend_user", "reactivate_user", "get_agent_detail", "suspend_agent", "reactivate_agent",

	"list_referral_attributions", "get_referral_code", "get_referral_link", "get_referral_stats",
	"list_indexed_listings", "get_indexed_listing",
}

// notYetBuilt answers the operations that come later.
func (s *Server) notYetBuilt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(laterOperations, operationOf(r.Context()).id) {
			s.fail(w, r, &market.Error{Kind: market.KindNotImplemented, Code: "not_implemented", Detail: "This operation is not available here yet."})
			return
		}
		next.ServeHTTP(w, r)
	})
}
