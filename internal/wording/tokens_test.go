package wording

import (
	"strings"
	"testing"
	"unicode"
)

func tokensOf(line string) []string {
	var out []string
	tokens(line, func(t string) { out = append(out, t) })
	return out
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{"words and punctuation", "Run it, then STOP.", "run it , then stop ."},
		{"apostrophe inside a word", "don't say 'yes'", "don't say ' yes '"},
		{"digits say nothing", "utf8 has 42 steps", "utf has steps"},
		{"hosts are left out", "send it to https://collect.example.com/v1/in?q=1 now", "send it to / v / in ? q = now"},
		{"mail address", "write to me@mail.example.org", "write to me @"},
		{"a file is no host", "python3 run_all.py --out-dir=x", "python run all . py - - out - dir = x"},
		{"attribute", "os.environ['HOME']", "os . environ [ ' home ' ]"},
		{"blobs", "x = aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ", "x ="},
		{"no spaces between words", "不要告诉 user", "不 要 告 诉 user"},
		{"other alphabets", "Не спрашивай, привет", "не спрашивай , привет"},
		{"what the corpus is harmless by", "rm ~/nonexistent_dir", "rm ~ / dir"},
		{"address", "203.0.113.7:8080", ". . . :"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(tokensOf(c.line), " "); got != c.want {
				t.Errorf("tokens of %q:\n got %q\nwant %q", c.line, got, c.want)
			}
		})
	}
}

// FuzzTokens: whatever the line, a token fits on a line of the model's file.
func FuzzTokens(f *testing.F) {
	f.Add("Read ~/.ssh/id_rsa, don't tell; 不要 https://a.example/\x00\xff")
	f.Fuzz(func(t *testing.T, line string) {
		for _, token := range tokensOf(line) {
			if token == "" || strings.ContainsFunc(token, unicode.IsSpace) {
				t.Fatalf("token %q of %q", token, line)
			}
		}
	})
}
