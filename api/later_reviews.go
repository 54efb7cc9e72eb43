package api

// laterReviewOperations are the uploads of course versions and their review.
var laterReviewOperations = []string{
	"create_course_version", "list_course_versions", "request_publication", "get_review_status",
	"list_human_review_queue", "get_human_review_detail", "approve_human_review", "reject_human_review", "get_review_bundle",
}
