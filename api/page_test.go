package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/store/storetest"
)

func TestPagesShowEverythingOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	var made []string
	for i := range 7 {
		made = append(made, f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID, Title: fmt.Sprint("Course ", i)}).String())
	}
	// Rows of one instant are told apart by their id.
	if _, err := f.db.Pool().Exec(t.Context(), "UPDATE courses SET created_at = now()"); err != nil {
		t.Fatal(err)
	}
	for size := 1; size <= 8; size++ {
		var seen []string
		params := &client.ListCoursesParams{Limit: &size}
		for {
			page, err := client.OK(f.client(a.Key).ListCoursesWithResponse(t.Context(), params))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.JSON200.Items {
				seen = append(seen, c.ID.String())
			}
			if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
				break
			}
			if len(page.JSON200.Items) != size {
				t.Fatalf("a page of %d has %d items and is not the last", size, len(page.JSON200.Items))
			}
		}
		slices.Sort(seen)
		if want := slices.Sorted(slices.Values(made)); !slices.Equal(seen, want) {
			t.Errorf("pages of %d show %v, want %v", size, seen, want)
		}
	}
}

func TestRowsMadeMeanwhileDoNotShiftPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	oldest := f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
	f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
	first := f.want(f.send("GET", "/v1/courses?limit=1", a.Key, nil), 200, "")
	f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
	second := f.want(f.send("GET", "/v1/courses?limit=1&cursor="+first.value("next_cursor"), a.Key, nil), 200, "")
	if !strings.Contains(string(second.body), oldest.String()) {
		t.Errorf("the second page is not the oldest course: %s", second.body)
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.db.NewAgent(t, storetest.NewAgentOptions{}), f.db.NewAgent(t, storetest.NewAgentOptions{})
	for range 3 {
		f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
		f.db.Credit(t, a.ID, 100)
	}
	cursor := f.want(f.send("GET", "/v1/courses?limit=1", a.Key, nil), 200, "").value("next_cursor")
	entries := f.want(f.send("GET", "/v1/credits/entries?limit=1", a.Key, nil), 200, "").value("next_cursor")
	flipped := []byte(cursor)
	flipped[len(flipped)/2] ^= 1
	for _, test := range []struct{ name, path, key, cursor string }{
		{"changed", "/v1/courses?", a.Key, string(flipped)},
		{"cut short", "/v1/courses?", a.Key, cursor[:len(cursor)-2]},
		{"lengthened", "/v1/courses?", a.Key, cursor + "AA"},
		{"made up", "/v1/courses?", a.Key, "eyJpZCI6MX0"},
		{"not base64", "/v1/courses?", a.Key, "!!"},
		{"another agent's", "/v1/courses?", b.Key, cursor},
		{"nobody's", "/v1/courses?", "", cursor},
		{"of other filters", "/v1/courses?owner_agent_id=" + a.ID.String() + "&", a.Key, cursor},
		{"of another list", "/v1/credits/entries?", a.Key, cursor},
		{"of a list by numbers", "/v1/courses?", a.Key, entries},
	} {
		got := f.send("GET", test.path+"cursor="+url.QueryEscape(test.cursor), test.key, nil)
		if got.status != 422 || !strings.Contains(string(got.body), `"type":"invalid_cursor"`) || !strings.Contains(string(got.body), `"loc":["query","cursor"]`) {
			t.Errorf("%s: %d %s", test.name, got.status, got.body)
		}
	}
	// The other limit belongs to the same list.
	f.want(f.send("GET", "/v1/courses?limit=2&cursor="+cursor, a.Key, nil), 200, "")
}

func TestCursorsWorkOnEveryReplica(t *testing.T) {
	t.Parallel()
	var shared api.Options
	f := newFixture(t, func(o *api.Options) { shared = *o })
	replica := newFixture(t, func(o *api.Options) { o.Store, o.Sealer = shared.Store, shared.Sealer })
	stranger := newFixture(t, func(o *api.Options) { o.Store = shared.Store }) // with keys of its own
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
	f.db.NewCourse(t, storetest.NewCourseOptions{Owner: a.ID})
	cursor := f.want(f.send("GET", "/v1/courses?limit=1", a.Key, nil), 200, "").value("next_cursor")
	replica.want(replica.send("GET", "/v1/courses?cursor="+cursor, a.Key, nil), 200, "")
	stranger.want(stranger.send("GET", "/v1/courses?cursor="+cursor, a.Key, nil), 422, "validation_error")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	for range 25 {
		f.db.Credit(t, a.ID, 1)
	}
	for query, want := range map[string]int{"": 20, "?limit=1": 1, "?limit=25": 25, "?limit=100": 25} {
		got := f.want(f.send("GET", "/v1/credits/entries"+query, a.Key, nil), 200, "")
		if n := strings.Count(string(got.body), `"amount_cents":1,`); n != want {
			t.Errorf("%q gives %d entries, want %d", query, n, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=101", "?limit=x", "?limit=1.5", "?limit=99999999999999999999"} {
		f.want(f.send("GET", "/v1/credits/entries"+query, a.Key, nil), 422, "validation_error")
	}
}

func TestBareArraysLinkToTheirNextPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	for range 3 {
		f.db.NewBounty(t, storetest.NewBountyOptions{Creator: a})
	}
	path, seen := "/v1/bounties?scope=mine&limit=2", 0
	for pages := 0; path != ""; pages++ {
		got := f.want(f.send("GET", path, a.Key, nil), 200, "")
		seen += strings.Count(string(got.body), `"course_title"`)
		link := got.header.Get("Link")
		if link == "" {
			break
		}
		next, ok := strings.CutPrefix(link, "<https://market.example")
		path, _, _ = strings.Cut(next, ">")
		if !ok || !strings.HasSuffix(link, `>; rel="next"`) || !strings.Contains(path, "scope=mine") || pages > 3 {
			t.Fatalf("Link is %q", link)
		}
	}
	if seen != 3 {
		t.Errorf("%d bounties on all pages", seen)
	}
}
