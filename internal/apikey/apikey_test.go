package apikey_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/course-marketplace/backend/internal/apikey"
)

func TestNewKeysHaveTheDocumentedForm(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^cmk_[0-9A-Za-z]{8}_[0-9A-Za-z]{40}_[0-9A-Za-z]{6}$`)
	seen := map[string]bool{}
	for range 1000 {
		k := apikey.New()
		if !form.MatchString(k.Text()) || len(k.Text()) != apikey.Length {
			t.Fatalf("key %q does not have the documented form", k.Text())
		}
		if !strings.HasPrefix(k.Text(), k.Prefix+"_") || seen[k.Prefix] {
			t.Fatalf("prefix %q is not the beginning of %q, or came twice", k.Prefix, k.Text())
		}
		seen[k.Prefix] = true
	}
}

func TestParseGivesBackTheKey(t *testing.T) {
	t.Parallel()
	k := apikey.New()
	got, ok := apikey.Parse(k.Text())
	if !ok || got.Prefix != k.Prefix || !got.Matches(k.Hash()) {
		t.Fatalf("Parse(Text()) = %v, %v", got, ok)
	}
	if got.Matches(apikey.New().Hash()) {
		t.Error("a key matches another key's hash")
	}
	if strings.Contains(fmt.Sprint(k), strings.Split(k.Text(), "_")[2]) {
		t.Error("printing a key shows its secret")
	}
}

func TestParseRefusesEveryChangedCharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(apikey.New().Text())
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		to := rapid.Byte().Filter(func(b byte) bool { return b != text[at] }).Draw(t, "to")
		text[at] = to
		if _, ok := apikey.Parse(string(text)); ok {
			t.Fatalf("a key with a changed character %d passes: %q", at, text)
		}
	})
}

func TestParseRefusesOtherForms(t *testing.T) {
	t.Parallel()
	good := apikey.New().Text()
	for _, text := range []string{"", "cmk", "cmk___", good + "x", good[:len(good)-1], " " + good[1:], "Bearer " + good, strings.ToUpper(good)} {
		if _, ok := apikey.Parse(text); ok {
			t.Errorf("Parse(%q) passes", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(apikey.New().Text())
	f.Add("cmk_a_b_c")
	f.Fuzz(func(t *testing.T, text string) {
		if k, ok := apikey.Parse(text); ok && k.Text() != text {
			t.Fatalf("%q parses as %q", text, k.Text())
		}
	})
}
