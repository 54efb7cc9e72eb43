package seal

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func newTestKeyset(t *testing.T) string {
	t.Helper()
	keyset, err := NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	return keyset
}

func newTestSealer(t *testing.T, keyset string) *Sealer {
	t.Helper()
	sealer, err := New(keyset)
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

func TestOpenRefusesWhatWasNotSealedForIt(t *testing.T) {
	t.Parallel()
	sealer := newTestSealer(t, newTestKeyset(t))
	sealed, err := sealer.Seal([]byte("gho_token"), []byte("row-1"))
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte(nil), sealed...)
	changed[len(changed)-1] ^= 1
	other := newTestSealer(t, newTestKeyset(t))

	tests := map[string]struct {
		sealer     *Sealer
		sealed     []byte
		associated string
		want       string
		err        error
	}{
		"as sealed":             {sealer, sealed, "row-1", "gho_token", nil},
		"other associated data": {sealer, sealed, "row-2", "", ErrOpen},
		"changed ciphertext":    {sealer, changed, "row-1", "", ErrOpen},
		"another keyset":        {other, sealed, "row-1", "", ErrOpen},
		"nothing":               {sealer, nil, "row-1", "", ErrOpen},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.sealer.Open(tt.sealed, []byte(tt.associated))
			if !errors.Is(err, tt.err) || string(got) != tt.want {
				t.Errorf("Open = %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// Between the two steps of a rotation, old and new processes run side by side and
// must read each other's values; afterwards old values must stay readable.
func TestRotation(t *testing.T) {
	t.Parallel()
	before := newTestKeyset(t)
	added, err := AddKey(before)
	if err != nil {
		t.Fatal(err)
	}
	promoted, err := PromoteNewestKey(added)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name         string
		sealed, open string
		want         error
	}{
		{"key added: old reads new", added, before, nil},
		{"key added: new reads old", before, added, nil},
		{"key promoted: the added keyset reads it", promoted, added, nil},
		{"key promoted: old values stay readable", before, promoted, nil},
		{"key promoted: seals with the new key", promoted, before, ErrOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sealed, err := newTestSealer(t, tt.sealed).Seal([]byte("value"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := newTestSealer(t, tt.open).Open(sealed, nil); !errors.Is(err, tt.want) {
				t.Errorf("Open: %v, want %v", err, tt.want)
			}
		})
	}
}

func TestBadKeysetIsNamedButNotShown(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                         "keyset is empty",
		"s3cret!":                  "keyset is not base64",
		b64("s3cret"):              "keyset is not a Tink keyset in JSON",
		b64(`{"primaryKeyId": 1}`): "keyset is not a Tink keyset in JSON",
	}
	for text, want := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := New(text)
			if err == nil || err.Error() != want {
				t.Errorf("New(%q): %v, want %q", text, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Error("the error shows the keyset")
			}
		})
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
