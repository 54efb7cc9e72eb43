package scanner

import (
	"regexp"
	"strings"
)

var (
	batchVariable = regexp.MustCompile(`%([A-Za-z_][A-Za-z0-9_]{0,60})(?::[^%\s]{0,40})?%|!([A-Za-z_][A-Za-z0-9_]{0,60})!`)
	batchSet      = regexp.MustCompile(`(?i)^\s*@?\s*set\s+(?:/[ap]\s+)?"?([A-Za-z_]\w{0,60})=([^"\r\n]*)"?\s*$`)
	batchPrefix   = regexp.MustCompile(`(?i)^\s*(?:@|call\s+|start\s+(?:"[^"]*"\s+)?(?:/\w+\s+)*|cmd(?:\.exe)?\s+/[ck]\s+|if\s+(?:/i\s+)?(?:not\s+)?(?:exist|defined|errorlevel)\s+(?:"[^"]*"|\S+)\s+|if\s+(?:/i\s+)?(?:not\s+)?\S+==\S+\s+|for\s+(?:/\w+\s+)?[^()]{0,80}\([^()]{0,400}\)\s+do\s+|do\s+|else\s+|\(\s*)`)
	batchComment  = regexp.MustCompile(`(?i)^\s*@?\s*(?:rem\b|::|:[\w-]+\s*$)`)
	batchWipe     = regexp.MustCompile(`(?i)\b(?:del|erase|rd|rmdir)\b[^&|\n]{0,60}/s[^&|\n]{0,200}?((?:%USERPROFILE%|%HOMEPATH%|%HOMEDRIVE%|[A-Z]:\\Users|[A-Z]:\\?(?:\*|"|\s|$)|%SystemRoot%|%SystemDrive%)[^&|\n]{0,80})|\bformat\s+[a-z]:|\bcipher\s+/w:|\bvssadmin\b.{0,20}\bdelete\b|\bwbadmin\s+delete\b|\bbcdedit\b.{0,60}recoveryenabled\s+no`)
	batchStart    = regexp.MustCompile(`(?i)currentversion\\run\b|\bschtasks(?:\.exe)?\b.{0,40}/create|start menu\\programs\\startup|\bsc(?:\.exe)?\s+create\b|\bwmic\b.{0,80}\bstartup\b`)
	batchGuard    = regexp.MustCompile(`(?i)\bset-mppreference\b.{0,40}-(?:disable|exclusion)|\badd-mppreference\b|\bsc(?:\.exe)?\s+(?:stop|config|delete)\s+"?(?:windefend|wscsvc|mpssvc|sense)|\bnetsh\s+advfirewall\s+set\s+\w+\s+state\s+off|\breg(?:\.exe)?\b.{0,160}(?:DisableAntiSpyware|DisableRealtimeMonitoring|EnableLUA)`)
)

// batch reads a Windows command file: line by line as what the same commands would be
// in a Unix shell, so that downloads, uploads and what they carry are followed.
func (v *visit) batch(text string) {
	p := v.newProgram(text)
	p.declared = v.declaredDomains()
	p.stated = statedStartUp(v.bundle)
	for i, line := range p.lines {
		if v.ctx.Err() != nil {
			return
		}
		if len(line) < maxPassage && !batchComment.MatchString(line) {
			p.batchEffects(i+1, line)
		}
	}
	v.unread(p.analyzeShell(batchAsShell(p.lines)), "batch")
}

func (p *program) batchEffects(line int, text string) {
	switch {
	case batchWipe.MatchString(text):
		p.report(bWipe, line, 0.85, "")
	case batchStart.MatchString(text):
		p.report(bPersist, line, 0.8, "")
	case batchGuard.MatchString(text):
		p.report(bDisableSecurity, line, 0.8, "")
	}
}

// batchAsShell keeps the lines where they are.
func batchAsShell(lines []string) string {
	var sb strings.Builder
	for _, line := range lines {
		line = strings.TrimRight(line, "\r")
		if len(line) < maxPassage && !batchComment.MatchString(line) {
			sb.WriteString(batchLine(line))
		}
		sb.WriteByte('\n')
	}
	return sb.String()
}

const maxBatchPrefixes = 8

func batchLine(line string) string {
	if m := batchSet.FindStringSubmatch(line); m != nil {
		return m[1] + `="` + strings.ReplaceAll(batchWords(m[2]), `"`, "") + `"`
	}
	for range maxBatchPrefixes {
		loc := batchPrefix.FindStringIndex(line)
		if loc == nil {
			break
		}
		line = line[loc[1]:]
	}
	return batchWords(strings.TrimRight(line, " )"))
}

var batchReplacer = strings.NewReplacer(`\`, "/", "^|", "|", "^&", "&", "^>", ">", "^", "", "`", "", "$", "", "(", " ", ")", " ", "'", "", ";", " ", "curl.exe", "curl", ">nul", ">/dev/null", "> nul", ">/dev/null")

func batchWords(s string) string {
	s = batchReplacer.Replace(s)
	s = batchVariable.ReplaceAllString(s, "$${$1$2}")
	if strings.Count(s, `"`)%2 == 1 {
		s = strings.ReplaceAll(s, `"`, "")
	}
	return strings.ReplaceAll(s, "${USERPROFILE}", "${HOME}")
}
