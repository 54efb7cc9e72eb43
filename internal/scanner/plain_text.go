package scanner

import (
	"regexp"
	"strings"
)

func startsWithAddress(v value) bool {
	return strings.HasPrefix(v.text, "http://") || strings.HasPrefix(v.text, "https://")
}

// joinedPath puts the parts of a path together.
func joinedPath(parts []value) string {
	var sb strings.Builder
	for _, p := range parts {
		if sb.Len() > maxPlainText {
			break
		}
		if sb.Len() > 0 && !strings.HasSuffix(sb.String()[max(0, sb.Len()-1):], "/") {
			sb.WriteByte('/')
		}
		sb.WriteString(p.text)
	}
	return sb.String()
}

// plainPath is a path as the other analysers know it.
func plainPath(text string) string {
	if len(text) > 400 {
		return ""
	}
	if windowsPath.MatchString(text) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, `\\`, "/"), `\`, "/")
	}
	return strings.TrimSpace(pathEscapes.Replace(text))
}

var pathEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\n", "$HOME", "~", "%USERPROFILE%", "~")

// windowsPath tells a path's backslashes from those that escape letters.
var windowsPath = regexp.MustCompile(`(?i)^(?:[a-z]:|~|\.{1,2}|\$home|%\w+%|hk[a-z]{2}:?|HKEY_\w+|\\\\[\w.-]+)\\|\\(?:users|software|appdata|\.ssh|\.aws|windows|google|mozilla)\b`)

func pathLike(path string) bool {
	return path != "" && len(path) < 200 && !strings.Contains(path, "://") && !strings.ContainsAny(path, "\n<>|\"'(){}=;,") && strings.ContainsAny(path, "/.~_")
}

// decodedPlain is what comes out of the usual encodings, as far as the text is known.
func decodedPlain(v value) value {
	out := v.tainted(fromDecoding)
	text := strings.TrimSpace(v.text)
	if len(text) < 8 {
		return out
	}
	for _, plain := range []string{fromBase64(text), fromHex(text), reverse(text), strings.Map(rot13, text)} {
		if tellsCommand(plain) {
			out.text = plain
			return out
		}
	}
	return out
}

// tellsCommand reports text that names an address or a program to run.
func tellsCommand(text string) bool {
	if len(text) > maxValueText || !printableWord(strings.Map(spaceless, text)) {
		return false
	}
	for _, sign := range []string{"://", "curl ", "wget ", "/bin/", "bash -", "powershell", "eval", "system(", "/dev/tcp/", ".ssh/", "import os", "subprocess", "require(", "IEX", "| sh", "|sh"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

func spaceless(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}
