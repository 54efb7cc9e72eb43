package scanner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same bundle gives the same findings in the same order, word for word: their
// fingerprints tell a reviewer what is new in a version.
func TestScanIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, s := range loadCorpus(t, "testdata/corpus/malicious") {
		first, err := Scan(t.Context(), s.bundle, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Scan(t.Context(), s.bundle, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Findings, again.Findings); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
	}
}
