package scanner

import (
	"path"
	"regexp"
	"strings"
	"unicode"
)

// textStructure looks at the characters of a text file: what a reader can't see.
func (v *visit) textStructure() {
	text, err := v.file.readText()
	if err != nil {
		v.findings.indeterminate(v.file.Path, "unreadable", "The file could not be read: "+readReason(err))
		return
	}
	v.disguisedText(text)
	v.padding(text)
	v.escapedLetters(text)
	if isASCII(text) {
		v.escapes(text)
		return
	}
	v.escapes(text)
	v.invisible(text)
	v.mixedScript(text)
}

// disguisedText: a picture or document by name that is program text.
func (v *visit) disguisedText(text string) {
	switch strings.ToLower(path.Ext(v.file.Path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".pdf", ".mp3", ".mp4", ".ico", ".webp", ".ttf", ".woff", ".docx", ".xlsx":
		if strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "version https://git-lfs") && len(text) > 40 {
			v.structure("structure.file.disguised", v.file.Path, 1, firstLine(text), v.file.Path)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

const (
	blankRun      = 40  // empty lines in a row that push what follows off the screen
	spaceRunWidth = 160 // spaces within a line that do the same sideways
	longLine      = 2000
)

func (v *visit) padding(text string) {
	if v.info.role == roleLock || v.info.kind == kindText && strings.HasSuffix(v.file.Path, ".csv") {
		return
	}
	blank, n := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			blank++
			continue
		}
		if blank >= blankRun {
			v.structure("structure.text.padding", v.file.Path, n, trimmed, "blank lines "+trimmed)
		}
		blank = 0
		if i := strings.Index(line, strings.Repeat(" ", spaceRunWidth)); i > 0 || (i == 0 && len(line)-len(strings.TrimLeft(line, " ")) >= 2*spaceRunWidth) {
			v.structure("structure.text.padding", v.file.Path, n, strings.TrimSpace(line[i:]), "spaces "+trimmed)
		}
		if len(line) > longLine && v.info.isCode() && v.info.kind != kindNotebook && v.info.role != roleVendored {
			v.structure("structure.text.long_line", v.file.Path, n, trimmed[:min(len(trimmed), 80)], trimmed[:80])
		}
	}
}

// escapedLetters matches a word of ordinary letters in which every one is escaped,
// hexadecimal or octal; no formatter writes text so.
var escapedLetters = regexp.MustCompile(`(?i)(?:\\x(?:2[ef]|3[a0-9]|[46][1-9a-f]|5[0-9af]|7[0-9a])){6,}|(?:\\u00(?:2[ef]|3[a0-9]|[46][1-9a-f]|5[0-9af]|7[0-9a])){6,}|(?:\\1[0-7][0-7]){6,}`)

func (v *visit) escapedLetters(text string) {
	if !v.info.isCode() || v.info.role == roleVendored || !strings.Contains(text, `\`) {
		return
	}
	if loc := escapedLetters.FindStringIndex(text); loc != nil {
		v.structure("structure.text.escaped_letters", v.file.Path, lineOf(text, loc[0]), snippetAt(text, loc[0]), "")
	}
}

// terminalEscape matches sequences that conceal, erase or move; colours are ordinary.
var terminalEscape = regexp.MustCompile(`\x1b\[(8m|[0-9;]*[ABCDHJKf]|\?\d+[hl])|\x1b\]|\x08{4,}|\r[^\n]{20,}\r[^\n]`)

func (v *visit) escapes(text string) {
	if !strings.ContainsAny(text, "\x1b\x08") {
		return
	}
	if loc := terminalEscape.FindStringIndex(text); loc != nil {
		v.structure("structure.text.terminal_escape", v.file.Path, lineOf(text, loc[0]), snippetAt(text, loc[0]), "")
	}
}

func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

func snippetAt(text string, offset int) string {
	return strings.ToValidUTF8(text[max(0, offset-30):min(len(text), offset+90)], "")
}

// announcesInvisible is a lesson on such characters, which has to show them.
var announcesInvisible = regexp.MustCompile(`(?i)\b(zero[- ]width|tag characters?|variation selectors?|invisible (?:characters?|unicode))\b`)

// invisible counts characters that nobody sees and tells messages and split words
// from emoji and scripts that need joiners.
func (v *visit) invisible(text string) {
	tags, selectors, run, longest := 0, 0, 0, 0
	first, bidi, split := -1, -1, -1
	var before rune
	for i, r := range text {
		switch {
		case r >= 0xE0020 && r <= 0xE007F:
			// Flags of regions are spelled with tags after a black flag.
			if before != 0x1F3F4 {
				tags++
			}
		case r >= 0xE0100 && r <= 0xE01EF:
			selectors++
		case r >= 0xFE00 && r <= 0xFE0F && (before >= 0xFE00 && before <= 0xFE0F || before >= 0xE0100 && before <= 0xE01EF):
			selectors++
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
			if bidi < 0 {
				bidi = i
			}
		}
		if zeroWidth(r) {
			run++
			longest = max(longest, run)
			if split < 0 && r != 0x00AD && isLatin(before) && i+3 < len(text) && isLatin(nextRune(text[i:])) {
				split = i
			}
		} else {
			run = 0
		}
		if first < 0 && (isInvisible(r) && i > 0) {
			first = i
		}
		if before != 0x1F3F4 || r < 0xE0020 || r > 0xE007F {
			before = r
		}
	}
	announced := false
	if tags+selectors+longest > 0 {
		announced = teachesSecurity(v.bundle) && announcesInvisible.MatchString(text)
	}
	if tags >= 4 || selectors >= 8 || longest >= 8 {
		v.structureAt("structure.text.invisible_message", v.file.Path, lineOf(text, max(first, 0)), snippetAt(text, max(first, 0)), tagText(text), announced)
	}
	if bidi >= 0 && !v.rightToLeft(text) {
		v.structure("structure.text.bidirectional", v.file.Path, lineOf(text, bidi), snippetAt(text, bidi), "")
	}
	if split >= 0 {
		v.structureAt("structure.text.zero_width", v.file.Path, lineOf(text, split), snippetAt(text, split), "", announced)
	}
}

func zeroWidth(r rune) bool {
	return r >= 0x200B && r <= 0x200D || r >= 0x2060 && r <= 0x2064 || r == 0xFEFF || r == 0x180E || r == 0x00AD
}

func isLatin(r rune) bool { return r < 0x250 && unicode.IsLetter(r) }

// nextRune is the first visible character of s.
func nextRune(s string) rune {
	for _, r := range s {
		if !zeroWidth(r) {
			return r
		}
	}
	return 0
}

// rightToLeft reports prose in Arabic or Hebrew, where direction marks are ordinary.
func (v *visit) rightToLeft(text string) bool {
	if v.info.isCode() {
		return false
	}
	letters := 0
	for _, r := range text {
		if unicode.Is(unicode.Arabic, r) || unicode.Is(unicode.Hebrew, r) {
			if letters++; letters > 40 {
				return true
			}
		}
	}
	return false
}

func (v *visit) mixedScript(text string) {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if !isASCII(line) && hasMixedWord(line) {
			v.structure("structure.text.mixed_script", v.file.Path, n, line, line)
			return
		}
	}
}
