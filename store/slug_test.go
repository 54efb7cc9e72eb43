package store_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/course-marketplace/backend/store"
)

func TestSlugsFitTheColumn(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*)?$`)
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringN(0, 300, -1).Draw(t, "title")
		if slug := store.Slugify(title); !form.MatchString(slug) || len(slug) > 100 {
			t.Fatalf("Slugify(%q) = %q", title, slug)
		}
	})
}
