package scanner

import (
	"path"
	"strings"
)

const (
	maxNamingText = 1 << 20 // of the documents that may name a host
	minHostLabel  = 4       // letters of a service's name that is told from a word
	maxNamedHosts = 500     // that are looked for in the documents
	maxHostName   = 253     // RFC 1035
)

// unnamed reports a fixed host of the outside that neither the declaration nor any
// document of the bundle mentions: whoever uses the bundle can't know of it.
func (p *program) unnamed(host string) bool {
	if host == "" || p.documentary || strings.Contains(host, unknownText) || isLocal(host) || privateAddress.MatchString(host) || p.isDeclared(host) {
		return false
	}
	return !p.v.named(host)
}

// named reports a host that a document names. What can't be looked for any more counts
// as named.
func (v *visit) named(host string) bool {
	state := v.state.(*behavioralState)
	if known, ok := state.named[host]; ok {
		return known
	}
	if len(state.named) >= maxNamedHosts || len(host) > maxHostName {
		return true
	}
	if state.named == nil {
		state.named = map[string]bool{}
	}
	state.named[host] = namesHost(v.documents(), host)
	return state.named[host]
}

// namesHost reports a text that mentions the host, a domain above it, or the service
// by the name that its domain has.
func namesHost(text, host string) bool {
	labels := strings.Split(host, ".")
	for i := 0; i+2 <= len(labels); i++ {
		domain := strings.Join(labels[i:], ".")
		if strings.Contains(text, domain) && !placeholderDomains[domain] {
			return true
		}
	}
	if len(labels) < 2 || placeholderDomains[strings.Join(labels[len(labels)-2:], ".")] {
		return false
	}
	service := labels[len(labels)-2]
	return len(service) >= minHostLabel && strings.Contains(text, service)
}

// placeholderDomains stand for any domain (RFC 2606), so the part before them is the name.
var placeholderDomains = wordSet("example.com example.org example.net")

// documents is the text of the bundle's documents in lower case.
func (v *visit) documents() string {
	state := v.state.(*behavioralState)
	if state.texts != "" {
		return state.texts
	}
	var sb strings.Builder
	sb.WriteByte('\n')
	for _, f := range v.bundle.Files {
		switch strings.ToLower(path.Ext(f.Path)) {
		case ".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc":
		default:
			continue
		}
		if f.Size > maxNamingText || sb.Len() > maxNamingText {
			continue
		}
		if text, err := f.readText(); err == nil {
			sb.WriteString(strings.ToLower(text))
		}
	}
	state.texts = sb.String()
	return state.texts
}
