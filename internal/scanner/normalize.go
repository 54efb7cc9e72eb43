package scanner

import (
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// isInvisible reports characters that render as nothing and can hide or split text:
// zero-width, bidirectional controls, tags, variation selectors, fillers (Unicode
// Standard Annex 9 and Technical Report 36).
func isInvisible(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x061C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x180E, r == 0x3164, r == 0xFEFF, r == 0xFFA0:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r >= 0xFE00 && r <= 0xFE0E:
		return true
	case r >= 0xE0000 && r <= 0xE0FFF, r >= 0x1D173 && r <= 0x1D17A, r >= 0xFFF9 && r <= 0xFFFB:
		return true
	}
	return false
}

// confusables maps letters of other scripts to the Latin letter they look like (the
// common part of Unicode's confusables data).
var confusables = map[rune]rune{
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ј': 'j', 'ѕ': 's', 'ԁ': 'd', 'һ': 'h', 'ԛ': 'q', 'ԝ': 'w', 'ո': 'n', 'ս': 'u', 'ց': 'g', 'օ': 'o', 'к': 'k', 'м': 'm', 'т': 't', 'в': 'b', 'н': 'h', 'г': 'r', 'ѵ': 'v',
	'А': 'A', 'В': 'B', 'Е': 'E', 'К': 'K', 'М': 'M', 'Н': 'H', 'О': 'O', 'Р': 'P', 'С': 'C', 'Т': 'T', 'Х': 'X', 'У': 'Y', 'І': 'I', 'Ѕ': 'S', 'Ј': 'J',
	'α': 'a', 'ο': 'o', 'ν': 'v', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'ι': 'i', 'κ': 'k', 'ε': 'e', 'χ': 'x', 'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X',
	'ɑ': 'a', 'ɡ': 'g', 'ı': 'i', 'ɩ': 'i', 'ℓ': 'l', 'ⅼ': 'l', 'ꞌ': '\'', '’': '\'', '‘': '\'', '“': '"', '”': '"', '‐': '-', '‑': '-', '–': '-', '—': '-', '\u00a0': ' ',
}

// normalizeLine makes a line comparable: compatibility forms composed (NFKC),
// invisible characters gone, look-alike letters in mixed-script words folded,
// entities, percent and backslash escapes read. ASCII without escapes is free.
func normalizeLine(line string) string {
	if !isASCII(line) {
		line = foldUnicode(line)
	}
	if strings.Contains(line, "&") {
		line = html.UnescapeString(line)
	}
	if strings.Contains(line, "%") {
		line = percentRun.ReplaceAllStringFunc(line, unescapePercent)
	}
	if strings.Contains(line, `\`) {
		line = backslashRun.ReplaceAllStringFunc(line, unescapeBackslash)
	}
	return line
}

var (
	percentRun   = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2}){2,}|%20`)
	backslashRun = regexp.MustCompile(`(?:\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2})+`)
	backslashOne = regexp.MustCompile(`\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))`)
)

func unescapePercent(s string) string {
	plain, err := url.PathUnescape(s)
	if err != nil {
		return s
	}
	return strings.Map(printableOrSpace, plain)
}

func unescapeBackslash(s string) string {
	return backslashOne.ReplaceAllStringFunc(s, func(one string) string {
		digits := backslashOne.FindStringSubmatch(one)
		code, err := strconv.ParseUint(digits[1]+digits[2]+digits[3], 16, 21)
		if err != nil || !unicode.IsPrint(rune(code)) {
			return " "
		}
		return string(rune(code))
	})
}

func printableOrSpace(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func foldUnicode(line string) string {
	line = strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, line)
	line = norm.NFKC.String(line)
	if !hasMixedWord(line) {
		return strings.Map(foldPunctuation, line)
	}
	return strings.Map(func(r rune) rune {
		if latin, ok := confusables[r]; ok {
			return latin
		}
		return r
	}, line)
}

func foldPunctuation(r rune) rune {
	if latin, ok := confusables[r]; ok && !unicode.IsLetter(r) {
		return latin
	}
	return r
}

// hasMixedWord reports a word that mixes Latin letters with look-alikes of another
// script; a text that is simply Russian or Greek has none.
func hasMixedWord(line string) bool {
	latin, foreign := false, false
	for _, r := range line {
		if !unicode.IsLetter(r) {
			latin, foreign = false, false
			continue
		}
		if r < 0x250 {
			latin = true
		} else if _, ok := confusables[r]; ok {
			foreign = true
		}
		if latin && foreign {
			return true
		}
	}
	return false
}

// tagText returns what is written in Unicode tag characters (U+E0000 block), which
// no editor shows and every model reads.
func tagText(s string) string {
	if isASCII(s) {
		return ""
	}
	var sb strings.Builder
	for _, r := range s {
		if r >= 0xE0020 && r <= 0xE007E {
			sb.WriteRune(r - 0xE0000)
		}
	}
	return sb.String()
}
