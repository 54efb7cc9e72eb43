package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

// access says who may call an operation and what becomes of the others.
type access struct {
	// target makes an object for one call and returns the path's variables and the
	// agents that it is the owner's affair of; nil for operations without an object.
	target func(m *marketplace) target
	body   any
	// role is what the operation needs, if it needs one.
	role market.Role
	// public operations take no key, or need none.
	public bool
	// optional operations show the caller with a key more than one without.
	optional bool
	// stranger is what agents that the object does not concern get: 403, 404, or
	// anything if it is zero (the operation concerns the caller alone or is for all).
	stranger int
}

// target is the object of one call.
type target struct {
	variables map[string]string
	// owner may call; the sibling is another agent of the owner's user, and no owner.
	owner storetest.Agent
}

// aBounty is an object in the given state; its creator owns it.
func aBounty(status market.BountyStatus) func(*marketplace) target {
	return func(m *marketplace) target {
		b := m.db.NewBounty(m.t, storetest.NewBountyOptions{Status: status})
		return target{map[string]string{"bounty_id": b.ID.String(), "submission_id": b.Submission.String()}, b.Creator}
	}
}

// aSubmission is a live submission; its submitter owns it.
func aSubmission(m *marketplace) target {
	b := m.db.NewBounty(m.t, storetest.NewBountyOptions{Status: market.BountyOpen})
	return target{map[string]string{"bounty_id": b.ID.String(), "submission_id": b.Submission.String()}, b.Submitter}
}

// aCourse is a private course of its owner.
func aCourse(m *marketplace) target {
	owner := m.agent()
	return target{map[string]string{"course_id": m.db.NewCourse(m.t, storetest.NewCourseOptions{Owner: owner.ID}).String()}, owner}
}

// aNotification lies in its owner's inbox.
func aNotification(m *marketplace) target {
	b := m.db.NewBounty(m.t, storetest.NewBountyOptions{Funded: true})
	var id string
	if err := m.db.Pool().QueryRow(m.t.Context(), "SELECT id::text FROM notifications WHERE agent_id = $1", b.Creator.ID).Scan(&id); err != nil {
		m.t.Fatal(err)
	}
	return target{map[string]string{"notification_id": id}, b.Creator}
}

// operationAccess has a row for every operation of the document.
var operationAccess = map[string]access{
	"list_bounties":              {},
	"create_bounty":              {target: aCourse, stranger: 404}, // the course is in the body
	"get_bounty":                 {target: aBounty(market.BountyDraft), stranger: 404},
	"update_bounty":              {target: aBounty(market.BountyOpen), body: map[string]any{"accepts_codehost_prs": false}, stranger: 403},
	"fund_bounty":                {target: aBounty(market.BountyDraft), stranger: 404},
	"open_bounty":                {target: aBounty(market.BountyOpen), stranger: 403},
	"cancel_bounty":              {target: aBounty(market.BountyOpen), stranger: 403},
	"create_bounty_payout":       {target: aBounty(market.BountyAwarded), stranger: 403},
	"list_bounty_submissions":    {target: aBounty(market.BountyDraft), stranger: 404},
	"create_bounty_submission":   {target: aBounty(market.BountyDraft), body: map[string]any{"title": "t", "description": "d"}, stranger: 404},
	"get_bounty_submission":      {target: aSubmission, stranger: 404},
	"withdraw_bounty_submission": {target: aSubmission, stranger: 404},
	"accept_bounty_submission":   {target: aBounty(market.BountyOpen), stranger: 404},
	"reject_bounty_submission":   {target: aBounty(market.BountyOpen), stranger: 404},
	"open_submission_pr":         {target: aSubmission, stranger: 404},

	"create_course":         {},
	"list_courses":          {optional: true},
	"get_course":            {target: aCourse, stranger: 404, optional: true},
	"create_course_version": {target: aCourse, stranger: 404},
	"list_course_versions":  {target: aCourse, stranger: 404},
	"request_publication":   {target: aCourse, stranger: 404},
	"get_review_status":     {target: aCourse, stranger: 404},

	"list_human_review_queue": {role: market.RoleReviewer},
	"get_human_review_detail": {role: market.RoleReviewer},
	"approve_human_review":    {role: market.RoleReviewer},
	"reject_human_review":     {role: market.RoleReviewer},
	"get_review_bundle":       {role: market.RoleReviewer},

	"get_credit_balance":  {},
	"list_credit_entries": {},
	"grant_credits":       {role: market.RoleSupport},
	"list_payouts":        {role: market.RoleSupport},
	"get_payout":          {role: market.RoleSupport},
	"retry_payout":        {role: market.RoleSupport},
	"freeze_account":      {role: market.RoleSupport},
	"unfreeze_account":    {role: market.RoleSupport},

	"list_reports":                 {role: market.RoleAdmin},
	"get_report_detail":            {role: market.RoleAdmin},
	"dismiss_report":               {role: market.RoleAdmin},
	"resolve_report":               {role: market.RoleAdmin},
	"start_report_review":          {role: market.RoleAdmin},
	"list_moderation_queue":        {role: market.RoleAdmin},
	"get_course_moderation_detail": {role: market.RoleAdmin},
	"block_course":                 {role: market.RoleAdmin},
	"unblock_course":               {role: market.RoleAdmin},
	"get_user_detail":              {role: market.RoleAdmin},
	"suspend_user":                 {role: market.RoleAdmin},
	"reactivate_user":              {role: market.RoleAdmin},
	"get_agent_detail":             {role: market.RoleAdmin},
	"suspend_agent":                {role: market.RoleAdmin},
	"reactivate_agent":             {role: market.RoleAdmin},
	"list_feature_flags":           {role: market.RoleAdmin},
	"set_feature_flag":             {role: market.RoleAdmin},

	"list_notifications":          {},
	"get_unread_count":            {},
	"mark_notification_read":      {target: aNotification, stranger: 404},
	"mark_all_notifications_read": {},

	"create_report":              {},
	"list_referral_attributions": {},
	"get_referral_code":          {},
	"get_referral_link":          {},
	"get_referral_stats":         {},
	"list_indexed_listings":      {},
	"get_indexed_listing":        {},

	"get_acquisition_plan":     {},
	"create_artifact_download": {},
	"purchase_resource":        {},
	"ingest_catalog_entries":   {},

	"get_codehost_identity":        {},
	"revoke_codehost_identity":     {},
	"begin_codehost_authorization": {},
	"begin_codehost_device_flow":   {},
	"poll_codehost_device_flow":    {},

	"list_resources":             {public: true},
	"get_resource":               {public: true},
	"list_resource_versions":     {public: true},
	"get_ai_catalog":             {public: true},
	"complete_codehost_callback": {public: true},
	// These three check a password instead of a key.
	"create_user_with_agent": {public: true},
	"add_agent_to_user":      {public: true},
	"rotate_agent_api_key":   {public: true},
}

func TestAccessCoversTheDocument(t *testing.T) {
	t.Parallel()
	all := documented(t)
	for id, op := range all {
		row, ok := operationAccess[id]
		if !ok {
			t.Errorf("%s has no row in the access table", id)
		}
		if (row.public || row.optional) == op.keyRequired() {
			t.Errorf("%s: the table says public: %t, the document requires a key: %t", id, row.public || row.optional, op.keyRequired())
		}
	}
	for id := range operationAccess {
		if _, ok := all[id]; !ok {
			t.Errorf("%s is in the access table and not in the document", id)
		}
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{})
	m.http = &http.Client{} // the document does not describe 501, which some operations answer for now
	suspended := m.agent()
	m.db.SuspendAgent(t, suspended.ID)
	suspendedUser := m.agent()
	m.db.SuspendUser(t, suspendedUser.UserID)
	byRole := map[market.Role]storetest.Agent{"": m.agent()}
	for _, role := range market.Roles {
		byRole[role] = m.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{role}})
	}
	for id, op := range documented(t) {
		row := operationAccess[id]
		if row.public {
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			c := &accessCheck{m: m.in(t), id: id, op: op, row: row}
			if !row.optional {
				c.expect("", target{}, 401, "missing_api_key")
			}
			c.expect(suspended.Key, target{}, 403, "agent_suspended")
			c.expect(suspendedUser.Key, target{}, 403, "user_suspended")
			c.roles(byRole)
			if row.target != nil {
				c.owners(byRole)
			}
		})
	}
}

// accessCheck calls one operation as different agents.
type accessCheck struct {
	m   *marketplace
	id  string
	op  documentedOperation
	row access
}

// roles calls with every role: the needed one and the admin's come through.
func (c *accessCheck) roles(agents map[market.Role]storetest.Agent) {
	for role, agent := range agents {
		a := c.call(agent.Key, target{})
		permitted := c.row.role == "" || role == c.row.role || role == market.RoleAdmin
		if refused := a.status == 403 && a.code() == "role_required"; refused == permitted || a.status == 401 {
			c.m.t.Errorf("as %q: %d %s", role, a.status, a.body)
		}
	}
}

// owners calls on an object as those whom it does not concern, whatever their role,
// then as its owner, for whom it must still be as it was.
func (c *accessCheck) owners(agents map[market.Role]storetest.Agent) {
	object := c.row.target(c.m)
	sibling := c.m.db.NewAgent(c.m.t, storetest.NewAgentOptions{UserID: object.owner.UserID})
	for name, agent := range map[string]storetest.Agent{"another agent": agents[""], "support": agents[market.RoleSupport], "the owner's other agent": sibling} {
		a := c.call(agent.Key, object)
		if a.status != c.row.stranger && a.status != http.StatusNotImplemented {
			c.m.t.Errorf("as %s: %d, want %d: %s", name, a.status, c.row.stranger, a.body)
		}
	}
	if a := c.call(object.owner.Key, object); a.status == 401 || a.status == 403 || a.status == c.row.stranger && !strings.Contains(a.code(), "review") {
		c.m.t.Errorf("as the owner: %d %s", a.status, a.body)
	}
}

func (c *accessCheck) expect(key string, object target, status int, code string) {
	c.m.t.Helper()
	c.m.expect(c.call(key, object), status, code)
}

// call calls the operation on the object, or on made-up ids.
func (c *accessCheck) call(key string, object target) answer {
	path := pathVariable.ReplaceAllStringFunc(c.op.path, func(variable string) string {
		if value, ok := object.variables[strings.Trim(variable, "{}")]; ok {
			return value
		}
		if variable == "{key}" {
			return "resource_read_surface"
		}
		return uuid.NewString()
	})
	body := c.row.body
	switch {
	case c.id == "create_bounty" && object.variables != nil:
		body = map[string]any{"course_id": object.variables["course_id"], "title": "t", "description": "d", "reward_amount_cents": 500}
	case c.id == "create_course_version":
		return c.m.send(c.op.method, path+"?version=1.0.0", key, "", "Content-Type", "application/zip")
	case body == nil && c.op.RequestBody != nil:
		body = map[string]any{}
	}
	return c.m.send(c.op.method, path, key, body)
}
