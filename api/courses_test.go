package api_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

func TestCreateCourse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	for _, test := range []struct {
		name   string
		body   map[string]any
		status int
		code   string
		slug   string // regular expression
	}{
		{"title alone", map[string]any{"title": "  Practical Go!  "}, 201, "", `^practical-go$`},
		{"same title", map[string]any{"title": "Practical Go"}, 201, "", `^practical-go-[0-9a-f]{12}$`},
		{"accents", map[string]any{"title": "Éléments d’algèbre"}, 201, "", `^elements-d-algebre$`},
		{"no Latin letters", map[string]any{"title": "実践"}, 201, "", `^course-[0-9a-f]{12}$`},
		{"long title", map[string]any{"title": strings.Repeat("go ", 60)}, 201, "", `^(go-)+g?o?$`},
		{"own slug", map[string]any{"title": "Go", "slug": "my-go"}, 201, "", `^my-go$`},
		{"taken slug", map[string]any{"title": "Go", "slug": "my-go"}, 409, "slug_taken", ""},
		{"all of it", map[string]any{"title": "Go", "summary": "s", "visibility": "unlisted", "price_cents": 100,
			"codehost_repository": "gophers/go-course", "codehost_base_branch": "main"}, 201, "", `^go$`},
		{"bad slug", map[string]any{"title": "Go", "slug": "My Go"}, 422, "validation_error", ""},
		{"no title", map[string]any{}, 422, "validation_error", ""},
		{"blank title", map[string]any{"title": " "}, 422, "validation_error", ""},
		{"unknown visibility", map[string]any{"title": "Go", "visibility": "secret"}, 422, "validation_error", ""},
		{"negative price", map[string]any{"title": "Go", "price_cents": -1}, 422, "validation_error", ""},
		{"price beyond the limit", map[string]any{"title": "Go", "price_cents": 1_000_000_000_001}, 422, "validation_error", ""},
		{"repository as a URL", map[string]any{"title": "Go", "codehost_repository": "https://host.example/a/b"}, 422, "validation_error", ""},
		{"repository without an owner", map[string]any{"title": "Go", "codehost_repository": "b"}, 422, "validation_error", ""},
	} {
		got := f.send("POST", "/v1/courses", a.Key, test.body)
		if got.status != test.status || got.code() != test.code {
			t.Errorf("%s: %d %s, want %d %s", test.name, got.status, got.body, test.status, test.code)
			continue
		}
		if got.status == 201 && (!regexp.MustCompile(test.slug).MatchString(got.value("slug")) || got.value("status") != "draft" ||
			got.value("owner_agent_id") != a.ID.String() || len(got.value("slug")) > 100) {
			t.Errorf("%s: %s", test.name, got.body)
		}
	}
}

func TestWhoSeesACourse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.db.NewAgent(t, storetest.NewAgentOptions{})
	keys := map[string]string{
		"owner":    owner.Key,
		"nobody":   "",
		"stranger": f.db.NewAgent(t, storetest.NewAgentOptions{}).Key,
		"sibling":  f.db.NewAgent(t, storetest.NewAgentOptions{UserID: owner.UserID}).Key,
		"support":  f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}}).Key,
		"reviewer": f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleReviewer}}).Key,
		"admin":    f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleAdmin}}).Key,
	}
	always := map[string]bool{"owner": true, "reviewer": true, "admin": true}
	for _, status := range []market.CourseStatus{market.CourseDraft, market.CourseInReview, market.CoursePublished, market.CourseBlocked, market.CourseArchived} {
		for _, visibility := range []market.Visibility{market.VisibilityPrivate, market.VisibilityUnlisted, market.VisibilityPublic} {
			id := f.db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID, Status: status, Visibility: visibility})
			published := status == market.CoursePublished
			for caller, key := range keys {
				visible := always[caller] || published && visibility != market.VisibilityPrivate
				got := f.send("GET", "/v1/courses/"+id.String(), key, nil)
				if visible && got.status != 200 || !visible && (got.status != 404 || got.code() != "course_not_found") {
					t.Errorf("%s %s course as %s: %d %s", status, visibility, caller, got.status, got.body)
				}
				listed := caller == "owner" || published && visibility == market.VisibilityPublic
				list := f.want(f.send("GET", "/v1/courses?limit=100", key, nil), 200, "")
				if strings.Contains(string(list.body), `"id":"`+id.String()) != listed {
					t.Errorf("%s %s course in the list of %s: want %v", status, visibility, caller, listed)
				}
			}
		}
	}
	f.want(f.send("GET", "/v1/courses/"+uuid.NewString(), owner.Key, nil), 404, "course_not_found")
}

func TestUnpublishedVersionsAreTheOwnersBusiness(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.db.NewAgent(t, storetest.NewAgentOptions{})
	id := f.db.NewCourse(t, storetest.NewCourseOptions{Owner: owner.ID, Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	next := f.db.NewVersion(t, id, "2.0.0").String()
	if got := f.send("GET", "/v1/courses/"+id.String(), owner.Key, nil); got.value("latest_version_id") != next {
		t.Errorf("the owner sees %s", got.body)
	}
	if got := f.send("GET", "/v1/courses/"+id.String(), "", nil); got.value("latest_version_id") != got.value("published_version_id") {
		t.Errorf("everybody sees %s", got.body)
	}
}

func TestListCoursesOfOneOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.db.NewAgent(t, storetest.NewAgentOptions{}), f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
	public := f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID, Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	f.db.NewCourse(t, storetest.NewCourseOptions{Owner: b.ID, Status: market.CoursePublished, Visibility: market.VisibilityPublic})
	for key, want := range map[string]int{a.Key: 2, b.Key: 1, "": 1} {
		page, err := client.OK(f.client(key).ListCoursesWithResponse(t.Context(), &client.ListCoursesParams{OwnerAgentID: &a.ID}))
		if err != nil {
			t.Fatal(err)
		}
		if items := page.JSON200.Items; len(items) != want || items[0].ID != public {
			t.Errorf("%d courses, want %d: %s", len(items), want, page.Body)
		}
	}
}
