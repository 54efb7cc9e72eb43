// Package mailbox reads e-mail addresses and tells which of them reach one mailbox.
package mailbox

import (
	"net/mail"
	"strings"
)

// maxLength is the longest address the service keeps (RFC 3696, erratum 1690: 64 for
// the local part, 255 for the domain, and the @).
const maxLength = 320

// Parse trims an address and checks that it is one, without a display name.
func Parse(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxLength || strings.ContainsAny(text, " <>\"") {
		return "", false
	}
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text {
		return "", false
	}
	domain := text[strings.LastIndexByte(text, '@')+1:]
	if !strings.Contains(domain, ".") || strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") {
		return "", false
	}
	return text, true
}

// provider says what a mail provider ignores in the part before the @.
type provider struct {
	domain string // where its other domains lead
	tag    string // what begins a tag
	dots   bool   // dots mean nothing
}

// providers lists the large public providers, by their own documentation on plus
// addresses, aliases and dots.
var providers = map[string]provider{
	"gmail.com":      {"gmail.com", "+", true},
	"googlemail.com": {"gmail.com", "+", true},
	"outlook.com":    {"outlook.com", "+", false},
	"hotmail.com":    {"hotmail.com", "+", false},
	"live.com":       {"live.com", "+", false},
	"msn.com":        {"msn.com", "+", false},
	"fastmail.com":   {"fastmail.com", "+", false},
	"fastmail.fm":    {"fastmail.fm", "+", false},
	"proton.me":      {"proton.me", "+", true},
	"protonmail.com": {"proton.me", "+", true},
	"pm.me":          {"proton.me", "+", true},
	"icloud.com":     {"icloud.com", "+", false},
	"me.com":         {"icloud.com", "+", false},
	"mac.com":        {"icloud.com", "+", false},
	"yahoo.com":      {"yahoo.com", "-", false},
	"ymail.com":      {"ymail.com", "-", false},
	"rocketmail.com": {"rocketmail.com", "-", false},
	"zoho.com":       {"zoho.com", "+", false},
	"hey.com":        {"hey.com", "+", false},
	"yandex.com":     {"yandex.ru", "+", false},
	"yandex.ru":      {"yandex.ru", "+", false},
	"ya.ru":          {"yandex.ru", "+", false},
	"gmx.com":        {"gmx.com", "+", false},
	"gmx.de":         {"gmx.de", "+", false},
	"gmx.net":        {"gmx.net", "+", false},
	"mailbox.org":    {"mailbox.org", "+", false},
	"posteo.de":      {"posteo.de", "+", false},
	"runbox.com":     {"runbox.com", "+", false},
	"hotmail.co.uk":  {"hotmail.co.uk", "+", false},
	"outlook.de":     {"outlook.de", "+", false},
	"yahoo.co.uk":    {"yahoo.co.uk", "-", false},
}

// Of returns the mailbox behind an address: lower case, without the tags, and at known
// providers without the dots, that the provider ignores. Two addresses with one mailbox
// belong to one person; the reverse need not hold.
func Of(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	local, domain := address[:at], strings.TrimSuffix(address[at+1:], ".")
	p, known := providers[domain]
	if !known {
		return local + "@" + domain
	}
	if name, _, tagged := strings.Cut(local, p.tag); tagged && name != "" {
		local = name
	}
	if p.dots {
		local = strings.ReplaceAll(local, ".", "")
	}
	return local + "@" + p.domain
}
