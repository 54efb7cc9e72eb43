package mailbox_test

import (
	"strings"
	"testing"

	"github.com/course-marketplace/backend/internal/mailbox"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ address, want string }{
		{"Ada@Example.com", "ada@example.com"},
		{" ada@example.com ", "ada@example.com"},
		{"ada+news@example.com", "ada+news@example.com"}, // unknown provider: may be another mailbox
		{"A.d.a+news@GMail.com", "ada@gmail.com"},
		{"ada@googlemail.com", "ada@gmail.com"},
		{"a.da+x@outlook.com", "a.da@outlook.com"},
		{"ada+x@hotmail.com", "ada@hotmail.com"},
		{"ada+x@live.com", "ada@live.com"},
		{"ada+x@fastmail.com", "ada@fastmail.com"},
		{"a.d.a+x@protonmail.com", "ada@proton.me"},
		{"ada+x@me.com", "ada@icloud.com"},
		{"ada-shopping@yahoo.com", "ada@yahoo.com"},
		{"ada+x@yahoo.com", "ada+x@yahoo.com"},
		{"+x@gmail.com", "+x@gmail.com"},
		{"ada@example.com.", "ada@example.com"},
	} {
		if got := mailbox.Of(test.address); got != test.want {
			t.Errorf("Of(%q) = %q, want %q", test.address, got, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, want string
		ok         bool
	}{
		{" ada@example.com ", "ada@example.com", true},
		{"ada+news@example.com", "ada+news@example.com", true},
		{"Ada <ada@example.com>", "", false},
		{"ada", "", false},
		{"ada@", "", false},
		{"ada@localhost", "", false},
		{"ada@@example.com", "", false},
		{"a da@example.com", "", false},
		{"ada@example.com\nBcc: eve@example.com", "", false},
		{strings.Repeat("a", 310) + "@example.com", "", false},
	} {
		if got, ok := mailbox.Parse(test.text); got != test.want || ok != test.ok {
			t.Errorf("Parse(%q) = %q, %v; want %q, %v", test.text, got, ok, test.want, test.ok)
		}
	}
}
