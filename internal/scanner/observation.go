package scanner

import (
	"regexp"
	"sort"
	"strings"
)

// The kinds of capability, named by their path in a declaration.
const (
	CapNetwork  = "network.domains"
	CapRead     = "filesystem.read"
	CapWrite    = "filesystem.write"
	CapCommand  = "shell.commands"
	CapVariable = "env.variables"
	CapServer   = "mcp.servers"
	CapPackage  = "packages"
	CapTool     = "tools"
)

// Observation is one capability a bundle was seen to use.
type Observation struct {
	Capability string `json:"capability"`
	Value      string `json:"value"`
	FilePath   string `json:"file_path"`
	LineStart  int    `json:"line_start"`
	// Documentary is set when it was seen only in a document's code block, which an
	// agent may or may not run.
	Documentary bool `json:"documentary,omitempty"`
	// Sensitive marks a variable or path that holds credentials.
	Sensitive bool `json:"sensitive,omitempty"`
}

const maxObservations = 400

type observations struct{ seen map[string]Observation }

func newObservations() *observations { return &observations{seen: map[string]Observation{}} }

// add keeps one observation per value, a program's rather than a document's.
func (o *observations) add(ob Observation) {
	ob.Value = strings.TrimSpace(ob.Value)
	if ob.Value == "" || len(ob.Value) > 200 {
		return
	}
	key := ob.Capability + "\x00" + ob.Value
	if old, ok := o.seen[key]; ok && (!old.Documentary || ob.Documentary) {
		return
	}
	if len(o.seen) < maxObservations {
		o.seen[key] = ob
	}
}

func (o *observations) list() []Observation {
	out := make([]Observation, 0, len(o.seen))
	for _, ob := range o.seen {
		out = append(out, ob)
	}
	sortObservations(out)
	return out
}

func sortObservations(list []Observation) {
	sort.Slice(list, func(i, j int) bool {
		if list[i].Capability != list[j].Capability {
			return list[i].Capability < list[j].Capability
		}
		return list[i].Value < list[j].Value
	})
}

// mergeObservations joins what several layers saw.
func mergeObservations(results []LayerResult) []Observation {
	all := newObservations()
	for _, r := range results {
		for _, o := range r.Observed {
			all.add(o)
		}
	}
	return all.list()
}

var secretName = regexp.MustCompile(`(?i)(token|secret|passw|api_?key|apikey|access_?key|private_?key|credential|_key$|^key$|_pat$|auth|session|cookie|dsn$|database_url|connection_string|webhook)`)

// secretLike reports a variable whose name says that it holds a credential.
func secretLike(name string) bool {
	return secretName.MatchString(name) && !strings.HasSuffix(strings.ToUpper(name), "AUTHOR") && !strings.HasPrefix(strings.ToUpper(name), "GIT_AUTHOR")
}

var urlHost = regexp.MustCompile(`(?i)\b(?:https?|wss?|ftps?|ssh|git|tcp)://(?:[^/@\s"'<>]*@)?(\[[0-9a-f:]+\]|[a-z0-9*_.-]+)`)

// hostOf returns the host of the first URL in s, lower case, without port, or "".
func hostOf(s string) string {
	m := urlHost.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	return strings.Trim(strings.ToLower(m[1]), ".[]")
}

var rawAddress = regexp.MustCompile(`^(?:\d{1,3}\.){3}\d{1,3}$|^[0-9a-f]*:[0-9a-f:]+$`)

// isLocal reports hosts that never leave the machine.
func isLocal(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") || host == "0.0.0.0" || host == "::1" || host == "host.docker.internal"
}

// isPlaceholder reports the hosts that RFC 2606 sets aside for documentation; they
// are ignored in documents only, never in programs.
func isPlaceholder(host string) bool {
	for _, d := range []string{"example.com", "example.org", "example.net", "example", "your-domain.com", "yourdomain.com", "your-server.com"} {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
