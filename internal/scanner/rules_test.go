package scanner

import (
	"testing"
)

// TestRuleExamples runs every rule against the examples it carries.
func TestRuleExamples(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range rules().rules {
		if seen[r.ID] {
			t.Errorf("rule id %s is not unique", r.ID)
		}
		seen[r.ID] = true
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			for _, text := range r.Examples.Match {
				if !exampleMatches(r, text) {
					t.Errorf("does not match %q", text)
				}
			}
			for _, text := range r.Examples.Clean {
				if exampleMatches(r, text) {
					t.Errorf("matches %q", text)
				}
			}
		})
	}
}

// exampleMatches reads text as a document and as every kind the rule names, through
// the same keyword filter as a scan.
func exampleMatches(r *rule, text string) bool {
	kinds := r.Kinds
	if len(kinds) == 0 {
		kinds = []fileKind{kindMarkdown}
	}
	for _, kind := range kinds {
		for _, b := range blocksOf(fileInfo{kind: kind}, text) {
			p := newPassage(b)
			for _, candidate := range rules().candidates(&p) {
				if candidate != r {
					continue
				}
				if _, factor, ok := r.find(&p, kind); ok && factor*r.Confidence >= 0.4 {
					return true
				}
			}
		}
	}
	return false
}
