package scanner

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	re2 "github.com/wasilibs/go-re2"
)

// Bounds of decoding: hostile input must not multiply.
const (
	maxDecodeDepth = 2
	maxBlob        = 256 << 10
	maxBlobs       = 200
)

var (
	base64Blob   = re2.MustCompile(`[A-Za-z0-9+/_-]{20,}={0,2}`)
	hexBlob      = re2.MustCompile(`(?:\\x|0x|%)?[0-9a-fA-F]{2}(?:[\s,:]*(?:\\x|0x|%)?[0-9a-fA-F]{2}){15,}`)
	charCodes    = re2.MustCompile(`\b\d{2,3}(?:\s*,\s*\d{2,3}){9,}\b`)
	hexNoise     = re2.MustCompile(`\\x|0x|[\s,:%]`)
	stringJoin   = re2.MustCompile(`["']\s*(?:\+|\\\n|\n)\s*["']`)
	spacedOut    = re2.MustCompile(`(?:\b\pL[ .\-_*]){8,}\pL\b`)
	imageDataURI = re2.MustCompile(`data:(?:image|font|audio|video)/[\w.+-]+;base64,[A-Za-z0-9+/=]+`)
)

// hidden is text found behind an encoding.
type hidden struct {
	encoding string
	text     string
	offset   int // of the blob in the text it was found in
}

// decodeHidden finds encoded runs in text and returns those that decode to readable
// text, two levels deep.
func decodeHidden(text string) []hidden {
	if strings.Contains(text, "data:") {
		text = imageDataURI.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	}
	var out []hidden
	for _, h := range decodeOnce(text) {
		out = append(out, h)
		for depth := 1; depth < maxDecodeDepth; depth++ {
			for _, inner := range decodeOnce(h.text) {
				out = append(out, hidden{h.encoding + " in " + inner.encoding, inner.text, h.offset})
			}
		}
	}
	return out
}

func decodeOnce(text string) []hidden {
	var out []hidden
	try := func(encoding string, re *re2.Regexp, decode func(string) string) {
		for _, loc := range re.FindAllStringIndex(text, maxBlobs) {
			blob := text[loc[0]:min(loc[1], loc[0]+maxBlob)]
			if plain := decode(blob); readable(plain) {
				out = append(out, hidden{encoding, plain, loc[0]})
			}
		}
	}
	try("base64", base64Blob, fromBase64)
	try("hexadecimal", hexBlob, fromHex)
	try("character codes", charCodes, fromCharCodes)
	try("character codes under a key", charCodes, fromKeyedCodes)
	if len(text) >= maxBlob {
		return out
	}
	if joined := stringJoin.ReplaceAllString(text, ""); joined != text {
		for _, loc := range base64Blob.FindAllStringIndex(joined, maxBlobs) {
			if plain := fromBase64(joined[loc[0]:loc[1]]); readable(plain) && !strings.Contains(text, joined[loc[0]:loc[1]]) {
				out = append(out, hidden{"split base64", plain, 0})
			}
		}
	}
	return out
}

func fromBase64(s string) string {
	s = strings.TrimRight(s, "=")
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return utf16AsText(plain)
}

// utf16AsText reads PowerShell's -EncodedCommand, which is UTF-16 in base64.
func utf16AsText(b []byte) string {
	if len(b) >= 8 && len(b)%2 == 0 && b[1] == 0 && b[3] == 0 && b[5] == 0 && b[7] == 0 {
		return utf16Text(b, true)
	}
	return string(b)
}

func fromHex(s string) string {
	s = hexNoise.ReplaceAllString(s, "")
	plain, err := hex.DecodeString(s[:len(s)/2*2])
	if err != nil {
		return ""
	}
	return string(plain)
}

func fromCharCodes(s string) string {
	var sb strings.Builder
	for field := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(field), 10, 21)
		if err != nil || n > unicode.MaxRune {
			return ""
		}
		sb.WriteRune(rune(n))
	}
	return sb.String()
}

const (
	maxKeyedCodes = 2 << 10 // of a list of numbers, in bytes
	keyedSample   = 48      // numbers that have to be text under a key before the rest is tried
)

// fromKeyedCodes tries the keys of one byte on a list of numbers; what is then a
// command was hidden on purpose.
func fromKeyedCodes(s string) string {
	if len(s) > maxKeyedCodes {
		return ""
	}
	var codes []byte
	for field := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(field), 10, 8)
		if err != nil {
			return ""
		}
		codes = append(codes, byte(n))
	}
	plain := make([]byte, len(codes))
	for key := 1; key < 256; key++ {
		if !printableUnder(codes[:min(len(codes), keyedSample)], byte(key)) {
			continue
		}
		for i, c := range codes {
			plain[i] = c ^ byte(key)
		}
		if text := string(plain); tellsCommand(text) {
			return text
		}
	}
	return ""
}

func printableUnder(codes []byte, key byte) bool {
	for _, c := range codes {
		if c ^= key; (c < 0x20 || c > 0x7e) && c != '\n' {
			return false
		}
	}
	return true
}

// readable reports text that looks written: printable, with words or code in it.
func readable(s string) bool {
	if len(s) < 8 {
		return false
	}
	printable, letters, spaces := 0, 0, 0
	total := 0
	for _, r := range s {
		total++
		switch {
		case r == unicode.ReplacementChar:
		case unicode.IsSpace(r):
			spaces++
			printable++
		case unicode.IsPrint(r):
			printable++
			if unicode.IsLetter(r) {
				letters++
			}
		}
	}
	enough := letters*2 >= total || letters*3 >= total && tellsCommand(s)
	return printable*100 >= total*97 && enough && (spaces > 0 || strings.Contains(s, "://") || strings.Contains(s, "(") || strings.Contains(s, "/"))
}

// rot13 and reversal are tried only where the text shows a common word in that
// disguise, since every text is some other text's rot13.
var (
	rot13Signs    = re2.MustCompile(`(?i)\b(gur|naq|lbh|vtaber|cerivbhf|vafgehpgvbaf|flfgrz|cebzcg|frperg|rkrphgr)\b`)
	reversedSigns = re2.MustCompile(`(?i)(snoitcurtsni|suoiverp|erongi|tpmorp|yek ipa|eht |\bdna\b)`)
)

func disguised(text string) []hidden {
	var out []hidden
	if len(rot13Signs.FindAllString(text, 3)) >= 3 {
		out = append(out, hidden{"rot13", strings.Map(rot13, text), 0})
	}
	if len(reversedSigns.FindAllString(text, 2)) >= 2 {
		out = append(out, hidden{"reversed text", reverse(text), 0})
	}
	if spacedOut.MatchString(text) {
		out = append(out, hidden{"spaced-out letters", collapseSpaced(text), 0})
	}
	return out
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func reverse(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// collapseSpaced joins "i g n o r e  a l l" to "ignore all"; two separators in a
// row, or a slash, end a word.
func collapseSpaced(s string) string {
	return spacedOut.ReplaceAllStringFunc(s, func(run string) string {
		var sb strings.Builder
		for i, r := range run {
			if unicode.IsLetter(r) {
				sb.WriteRune(r)
			} else if i+1 < len(run) && !isLetterByte(run[i+1]) {
				sb.WriteByte(' ')
			}
		}
		return sb.String()
	})
}

func isLetterByte(b byte) bool { return b >= 0x80 || b|0x20 >= 'a' && b|0x20 <= 'z' }
