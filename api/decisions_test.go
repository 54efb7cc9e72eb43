package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

// An agent whose version was rejected for what it does not declare applies the patch,
// uploads again and is published, with nobody's help.
func TestAgentRepairsItsDeclarationAlone(t *testing.T) {
	t.Parallel()
	undeclared := maps.Clone(weather)
	delete(undeclared, "capabilities.yaml")
	const shell = "#!/bin/sh\ncurl -sS https://data.weather.example/ -H \"Authorization: $WEATHER_TOKEN\" > \"$HOME/.cache/weather.json\"\n"
	tests := map[string]struct {
		content files
		reason  string
	}{
		"an undeclared host":  {underdeclared, "network_domain_not_declared"},
		"no declaration":      {undeclared, "capabilities_not_declared"},
		"a wildcard":          {weather.with(files{"capabilities.yaml": "network:\n  domains: [\"*\"]\n"}), "network_wildcard_declared"},
		"several things":      {underdeclared.with(files{"scripts/cache.sh": shell}), "shell_command_not_declared"},
		"in the front matter": {undeclared.with(files{"SKILL.md": strings.Replace(weather["SKILL.md"], "license:", "capabilities: {network: []}\nlicense:", 1)}), "network_domain_not_declared"},
	}
	p := newPublishing(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := p.in(t)
			course, r := p.waiting(test.content)
			r = p.rejectedFor(course, r, test.reason)
			declaration, err := yaml.Marshal(applyPatch(t, r.DeclaredCapabilities, r.Decision.DeclarationPatch))
			if err != nil {
				t.Fatal(err)
			}
			p.addVersion(course, "1.0.1", test.content.with(files{"capabilities.yaml": string(declaration)}))
			r = p.reviewed(course, market.ReviewHumanReview)
			if *r.CapabilitiesStatus != "matched" {
				t.Errorf("after the repair: %s, %+v", *r.CapabilitiesStatus, r.CapabilityMismatches)
			}
			p.want(p.approve(p.reviewer.Key, r.ID, nil), 200, "")
		})
	}
}

// rejectedFor tries to approve, rejects for the reason, and returns what the author reads.
func (p *publishing) rejectedFor(course uuid.UUID, r client.GetReviewStatusResponse, reason string) client.GetReviewStatusResponse {
	p.t.Helper()
	found := slices.IndexFunc(r.CapabilityMismatches, func(m client.CapabilityMismatch) bool { return string(m.ReasonCode) == reason })
	if found < 0 || r.Decision != nil {
		p.t.Fatalf("reviewed as %+v", r)
	}
	if slices.ContainsFunc(r.CapabilityMismatches, func(m client.CapabilityMismatch) bool { return m.RequiresAcknowledgement }) {
		p.want(p.approve(p.reviewer.Key, r.ID, nil), 422, "capability_acknowledgement_required")
		p.want(p.approve(p.reviewer.Key, r.ID, map[string]any{"acknowledge_capability_mismatches": false}), 422, "capability_acknowledgement_required")
	}
	rejected := p.want(p.reject(p.reviewer.Key, r.ID, map[string]any{
		"decision_reason": "Undeclared", "reviewer_notes": "Declare it.", "capability_reason_code": reason}), 200, "")
	if rejected.value("status") != "rejected" {
		p.t.Errorf("answered %s", rejected.body)
	}
	r = decode[client.GetReviewStatusResponse](p.t, p.want(p.status(p.author.Key, course, ""), 200, ""))
	if r.Decision == nil || r.Decision.DeclarationPatch == nil || *r.Decision.CapabilityReasonCode != reason {
		p.t.Fatalf("the author is told %+v", r.Decision)
	}
	return r
}

// applyPatch applies the operations with a library that knows nothing of ours, and
// checks that they lead to the result that comes with them.
func applyPatch(t *testing.T, declared *client.Capabilities, p *client.DeclarationPatch) map[string]any {
	t.Helper()
	encode := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	operations, err := jsonpatch.DecodePatch(encode(p.Operations))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := operations.Apply(encode(declared))
	if err != nil {
		t.Fatal(err)
	}
	if !jsonpatch.Equal(patched, encode(p.Result)) {
		t.Errorf("the operations give %s, the result is %s", patched, encode(p.Result))
	}
	var document map[string]any
	if err := json.Unmarshal(patched, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func TestApprovalAcknowledgesMismatches(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(underdeclared)
	p.want(p.approve(p.reviewer.Key, r.ID, map[string]any{"acknowledge_capability_mismatches": true, "reviewer_notes": "The course's own host."}), 200, "")
	detail := p.detail(r.ID)
	if detail.ReviewStatus != "approved" || detail.ReviewerNotes == nil || detail.ReviewedByUserID == nil || *detail.ReviewedByUserID != p.reviewer.UserID {
		t.Errorf("%+v", detail)
	}
}

// Reviewers may not decide on what is their own, whichever of their agents asks.
func TestOwnerDoesNotReview(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	if _, err := p.db.GrantRole(t.Context(), p.author.UserID, market.RoleReviewer); err != nil {
		t.Fatal(err)
	}
	_, r := p.waiting(weather)
	sibling := p.db.NewAgent(t, storetest.NewAgentOptions{UserID: p.author.UserID})
	for _, key := range []string{p.author.Key, sibling.Key} {
		p.expect(p.send(http.MethodGet, reviewPath(r.ID, ""), key, nil), 403, "own_course")
		p.expect(p.send(http.MethodGet, reviewPath(r.ID, "/bundle"), key, nil), 403, "own_course")
		p.expect(p.approve(key, r.ID, nil), 403, "own_course")
		p.expect(p.reject(key, r.ID, rejection), 403, "own_course")
	}
	p.want(p.approve(p.reviewer.Key, r.ID, nil), 200, "")
}

func TestDecisionRefusals(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(underdeclared)
	admin := p.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleAdmin}})
	support := p.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}})
	for name, test := range map[string]struct {
		answer answer
		want   outcome
	}{
		"approve: no role":         {p.approve(p.agent().Key, r.ID, nil), outcome{403, "role_required"}},
		"approve: support":         {p.approve(support.Key, r.ID, nil), outcome{403, "role_required"}},
		"approve: no key":          {p.approve("", r.ID, nil), outcome{401, "missing_api_key"}},
		"approve: unknown":         {p.approve(p.reviewer.Key, uuid.New(), nil), outcome{404, "review_not_found"}},
		"approve: no boolean":      {p.approve(p.reviewer.Key, r.ID, map[string]any{"acknowledge_capability_mismatches": "yes"}), outcome{422, "validation_error"}},
		"reject: nothing said":     {p.reject(p.reviewer.Key, r.ID, map[string]any{}), outcome{422, "validation_error"}},
		"reject: no notes":         {p.reject(p.reviewer.Key, r.ID, map[string]any{"decision_reason": "x", "reviewer_notes": ""}), outcome{422, "validation_error"}},
		"reject: a long reason":    {p.reject(p.reviewer.Key, r.ID, map[string]any{"decision_reason": strings.Repeat("x", 256), "reviewer_notes": "x"}), outcome{422, "validation_error"}},
		"reject: an unknown code":  {p.reject(p.reviewer.Key, r.ID, map[string]any{"decision_reason": "x", "reviewer_notes": "x", "capability_reason_code": "x"}), outcome{422, "validation_error"}},
		"reject: NUL in the notes": {p.reject(p.reviewer.Key, r.ID, map[string]any{"decision_reason": "x", "reviewer_notes": "a\x00b"}), outcome{422, "validation_error"}},
		"detail: no role":          {p.send(http.MethodGet, reviewPath(r.ID, ""), p.author.Key, nil), outcome{403, "role_required"}},
		"bundle: no role":          {p.send(http.MethodGet, reviewPath(r.ID, "/bundle"), p.author.Key, nil), outcome{403, "role_required"}},
	} {
		if test.answer.status != test.want.status || test.answer.code() != test.want.code {
			t.Errorf("%s: answered %d %s, want %v: %s", name, test.answer.status, test.answer.code(), test.want, test.answer.body)
		}
	}
	p.want(p.reject(admin.Key, r.ID, rejection), 200, "")
}

func TestCourseBlockedUnderReview(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course, r := p.waiting(weather)
	p.db.BlockCourse(t, course)
	p.want(p.approve(p.reviewer.Key, r.ID, nil), 409, "course_blocked")
	if got := p.detail(r.ID).ReviewStatus; got != "cancelled" {
		t.Errorf("the review is %s", got)
	}
	p.want(p.reject(p.reviewer.Key, r.ID, rejection), 409, "review_not_pending")
	p.want(p.request(p.author.Key, course), 409, "course_blocked")
}

func TestSuspendedOwnerIsNotPublished(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(weather)
	p.db.SuspendAgent(t, p.author.ID)
	p.want(p.approve(p.reviewer.Key, r.ID, nil), 409, "owner_suspended")
	p.db.ReactivateAgent(t, p.author.ID)
	p.want(p.approve(p.reviewer.Key, r.ID, nil), 200, "")
}

// Two reviewers decide at once, again and again: one decision is made.
func TestRacingDecisions(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	_, r := p.waiting(weather)
	other := p.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleReviewer}})
	answers := make([]answer, 20)
	var racing sync.WaitGroup
	for i := range answers {
		racing.Go(func() {
			if i%2 == 0 {
				answers[i] = p.approve(p.reviewer.Key, r.ID, nil)
			} else {
				answers[i] = p.reject(other.Key, r.ID, rejection)
			}
		})
	}
	racing.Wait()
	var decisions []string
	var others []error
	for _, a := range answers {
		switch {
		case a.status == http.StatusOK:
			decisions = append(decisions, a.value("status"))
		case a.status != http.StatusConflict || a.code() != "review_not_pending":
			others = append(others, fmt.Errorf("%d %s", a.status, a.body))
		}
	}
	if err := errors.Join(others...); err != nil {
		t.Error(err)
	}
	if len(decisions) != 1 || decisions[0] != string(p.detail(r.ID).ReviewStatus) {
		t.Errorf("decided %v", decisions)
	}
}

// A rejected second version leaves the first one published; an approved third replaces it.
func TestLaterVersions(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	course, r := p.waiting(weather)
	p.want(p.approve(p.reviewer.Key, r.ID, nil), 200, "")
	published := func() string {
		return p.text("SELECT v.version || ' ' || c.status FROM courses c JOIN course_versions v ON v.id = c.published_version_id WHERE c.id = $1", course)
	}
	p.addVersion(course, "1.1.0", hostile)
	r = p.reviewed(course, market.ReviewHumanReview)
	if got := published(); got != "1.0.0 published" {
		t.Errorf("while the second is reviewed: %s", got)
	}
	p.want(p.reject(p.reviewer.Key, r.ID, rejection), 200, "")
	if got := published(); got != "1.0.0 published" {
		t.Errorf("after the rejection: %s", got)
	}
	p.addVersion(course, "1.1.1", weather.with(files{"references/more.md": "# More\n"}))
	r = p.reviewed(course, market.ReviewHumanReview)
	p.want(p.approve(p.reviewer.Key, r.ID, nil), 200, "")
	if got := published(); got != "1.1.1 published" {
		t.Errorf("after the approval: %s", got)
	}
	if n := p.count("SELECT count(*) FROM resources r JOIN resource_versions v ON v.resource_id = r.id WHERE r.course_id = $1", course); n != 2 {
		t.Errorf("the catalog has %d versions", n)
	}
	const waits, approved, rejected = "course_review.human_review", "course_review.approved", "course_review.rejected"
	if diff := cmp.Diff([]string{waits, approved, waits, rejected, waits, approved}, p.notices()); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}
