package scanner

import (
	"regexp"
	"strings"
)

var (
	scriptTag  = regexp.MustCompile(`(?i)<script\b([^>]{0,400})>`)
	scriptEnd  = regexp.MustCompile(`(?i)</script`)
	dataScript = regexp.MustCompile(`(?i)type\s*=\s*["']?(?:application/(?:ld\+)?json|text/(?:template|x-|html|markdown))|\btype\s*=\s*["']?(?:importmap|speculationrules)`)
	eventTag   = regexp.MustCompile(`(?i)<[a-z][^<>]{0,400}?\son(?:load|error|click|submit|begin|focus|mouseover|pageshow|input|change|toggle|animationstart)\s*=\s*("[^"]+"|'[^']+')`)
	formTag    = regexp.MustCompile(`(?i)<form\b[^>]{0,400}\baction\s*=\s*["']?(https?://[^"'\s>]{3,300})`)
	formEnd    = regexp.MustCompile(`(?i)</form`)
	secretBox  = regexp.MustCompile(`(?i)<input\b[^>]{0,300}(?:\btype\s*=\s*["']?password|\b(?:name|autocomplete)\s*=\s*["']?[\w-]*(?:passw|pin\b|cvv|cvc|card-?number|cc-number|seed|mnemonic|iban|ssn|token))`)
)

const maxPageScripts = 50

// page reads the programs within a page or picture, and where its forms go.
func (v *visit) page(text string) {
	found, past := 0, 0
	for _, m := range scriptTag.FindAllStringSubmatchIndex(text, maxPageScripts) {
		if m[0] < past {
			continue // a tag within a script is its text
		}
		end := scriptEnd.FindStringIndex(text[m[1]:])
		if end == nil || v.ctx.Err() != nil {
			break
		}
		past = m[1] + end[1]
		if !dataScript.MatchString(text[m[2]:m[3]]) {
			found++
			v.pageProgram(text[m[1]:m[1]+end[0]], lineOf(text, m[1])-1)
		}
	}
	for _, m := range eventTag.FindAllStringSubmatchIndex(text, maxPageScripts-found) {
		if v.ctx.Err() != nil {
			return
		}
		v.pageProgram(htmlQuotes.Replace(text[m[2]+1:m[3]-1]), lineOf(text, m[2])-1)
	}
	v.forms(text)
}

var htmlQuotes = strings.NewReplacer("&quot;", `"`, "&#39;", "'", "&apos;", "'", "&amp;", "&", "&lt;", "<", "&gt;", ">")

func (v *visit) pageProgram(source string, offset int) {
	if strings.TrimSpace(source) == "" {
		return
	}
	p := v.newProgram(source)
	p.declared = v.declaredDomains()
	p.lineOffset = offset
	// Templates hold placeholders that are no JavaScript; the text rules read them.
	_, _ = p.analyzeProgram(source, javascriptLanguage(), 0)
}

// forms reports a form that takes what is secret to a host that nothing mentions.
func (v *visit) forms(text string) {
	p := v.newProgram(text)
	p.declared = v.declaredDomains()
	for _, m := range formTag.FindAllStringSubmatchIndex(text, maxPageScripts) {
		line, host := lineOf(text, m[0]), hostOf(text[m[2]:m[3]])
		if host == "" || isLocal(host) {
			continue
		}
		p.observe(CapNetwork, host, line, false)
		body := text[m[1]:min(len(text), m[1]+20_000)]
		if end := formEnd.FindStringIndex(body); end != nil {
			body = body[:end[0]]
		}
		if secretBox.MatchString(body) && !p.isDeclared(host) {
			p.report(bExfilForm, line, 0.72, host)
		}
	}
}
