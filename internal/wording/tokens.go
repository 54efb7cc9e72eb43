package wording

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longWord is from how many bytes on a word is taken for an identifier, a digest or
// encoded data, which says nothing by its letters.
const longWord = 40

// ignored are words that the evaluation corpus uses to be harmless, so they would tell
// its labels and nothing else.
var ignored = map[string]bool{"nonexistent": true}

// topLevel are last labels by which a dotted name is taken for a host. Hosts are left
// out: a model that knows names would judge the address instead of the deed.
var topLevel = set("com net org io dev test invalid example app xyz co me ru cn site online cloud info ai gov edu mil int de uk fr es it nl pl eu ch at br jp kr in us ca au tech store live top local internal localhost")

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// tokens calls yield with each token of a line: words in lower case without digits,
// single characters of scripts that write no spaces, and punctuation marks one by one.
func tokens(line string, yield func(string)) {
	line = strings.ToLower(line)
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == 'h' && scheme(line[i:]) > 0:
			i += scheme(line[i:])
		case unspaced(r):
			yield(line[i : i+size])
			i += size
		case wordRune(r):
			i += name(line[i:], yield)
		default:
			if r != '_' && !unicode.IsSpace(r) && r != utf8.RuneError && !unicode.IsControl(r) && !unicode.Is(unicode.M, r) {
				yield(line[i : i+size])
			}
			i += size
		}
	}
}

// scheme is the length of a web address's beginning, which is left out like the host.
func scheme(s string) int {
	for _, prefix := range []string{"https://", "http://"} {
		if strings.HasPrefix(s, prefix) {
			return len(prefix)
		}
	}
	return 0
}

// name reads a run of words joined by dots, hyphens and underscores, and returns its
// length. A host yields nothing; anything else yields its words and what joins them.
func name(s string, yield func(string)) int {
	end, last := 0, 0
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if unspaced(r) || !wordRune(r) && r != '_' {
			if r != '.' && r != '-' && r != '\'' || !startsWord(s[end+size:]) {
				break
			}
			if r == '.' {
				last = end + size
			}
		}
		end += size
	}
	if last > 0 && topLevel[s[last:end]] {
		return end
	}
	at := 0
	for at < end {
		n := word(s[at:end], yield)
		at += n
		if at < end {
			if s[at] != '_' {
				yield(s[at : at+1])
			}
			at++
		}
	}
	return end
}

// word yields the leading run of letters and digits, less the digits. An apostrophe
// inside belongs to it: don't, l'utente.
func word(s string, yield func(string)) int {
	end := 0
	digits := false
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !wordRune(r) && (r != '\'' || end == 0 || !startsWord(s[end+size:])) {
			break
		}
		digits = digits || unicode.IsDigit(r)
		end += size
	}
	w := s[:end]
	if digits {
		w = strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, w)
	}
	if w != "" && end < longWord && !ignored[w] {
		yield(w)
	}
	return end
}

func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return wordRune(r) && !unspaced(r)
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// unspaced reports scripts in which a run of letters is a sentence, not a word.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
