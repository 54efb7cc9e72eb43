package password_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/course-marketplace/backend/internal/password"
)

// cheap keeps the tests fast; the form and the code path are the same.
var cheap = password.Params{Passes: 1, MemoryKiB: 64, Threads: 1}

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	h := password.NewHasher(cheap)
	hash, err := h.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, hash, password string
		want                 bool
	}{
		{"right", hash, "correct horse", true},
		{"wrong", hash, "correct hors", false},
		{"empty", hash, "", false},
		{"no such user", "", "correct horse", false},
	} {
		got, err := h.Verify(t.Context(), test.hash, test.password)
		if err != nil || got != test.want {
			t.Errorf("%s: Verify = %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

func TestHashIsInPHCFormatWithTheRecommendedCost(t *testing.T) {
	t.Parallel()
	h := password.NewHasher(password.Recommended)
	first, err := h.Hash(t.Context(), "same")
	if err != nil {
		t.Fatal(err)
	}
	second, _ := h.Hash(t.Context(), "same")
	form := regexp.MustCompile(`^\$argon2id\$v=19\$m=65536,t=3,p=4\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)
	if !form.MatchString(first) {
		t.Errorf("hash %q is not in PHC format", first)
	}
	if first == second {
		t.Error("two hashes of one password are equal: the salt is not random")
	}
}

func TestVerifyFollowsTheStoredCost(t *testing.T) {
	t.Parallel()
	hash, err := password.NewHasher(cheap).Hash(t.Context(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	dearer := password.NewHasher(password.Params{Passes: 2, MemoryKiB: 128, Threads: 2})
	if ok, err := dearer.Verify(t.Context(), hash, "kept"); err != nil || !ok {
		t.Errorf("a hash of another cost: %v, %v", ok, err)
	}
}

func TestVerifyRefusesDamagedHashes(t *testing.T) {
	t.Parallel()
	h := password.NewHasher(cheap)
	for _, hash := range []string{
		"plain", "$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$dGFn", "$argon2id$v=19$m=64,t=0,p=1$c2FsdHNhbHQ$dGFn",
		"$argon2id$v=19$m=99999999,t=1,p=1$c2FsdHNhbHQ$dGFn", "$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$dGFn", "$argon2id$v=19$x$y$z",
	} {
		ok, err := h.Verify(t.Context(), hash, "secret")
		if ok || err == nil {
			t.Errorf("Verify(%q) = %v, %v; want an error", hash, ok, err)
		}
		if err != nil && strings.Contains(err.Error(), hash) {
			t.Errorf("the error repeats the hash: %v", err)
		}
	}
}

func TestHashGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := password.NewHasher(cheap).Hash(ctx, "secret"); !errors.Is(err, context.Canceled) {
		t.Errorf("Hash with a cancelled context: %v", err)
	}
}
