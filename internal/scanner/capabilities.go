package scanner

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// CapabilitiesStatus is the outcome of comparing declared and observed.
type CapabilitiesStatus string

// The outcomes of a comparison.
const (
	CapabilitiesPending       CapabilitiesStatus = "pending"
	CapabilitiesMatched       CapabilitiesStatus = "matched"
	CapabilitiesMismatched    CapabilitiesStatus = "mismatched"
	CapabilitiesNotDeclared   CapabilitiesStatus = "not_declared"
	CapabilitiesIndeterminate CapabilitiesStatus = "indeterminate"
)

// Mismatch is one difference between declared and observed.
type Mismatch struct {
	ReasonCode string   `json:"reason_code"`
	Capability string   `json:"capability"`
	Kind       string   `json:"kind"` // undeclared, wildcard, missing_declaration, overdeclared
	Declared   string   `json:"declared,omitempty"`
	Observed   string   `json:"observed,omitempty"`
	Severity   Severity `json:"severity"`
	FilePath   string   `json:"file_path,omitempty"`
	LineStart  int      `json:"line_start,omitempty"`
	// RequiresAcknowledgement: a reviewer who approves must say that they saw it.
	RequiresAcknowledgement bool `json:"requires_acknowledgement"`

	documentary bool
}

// The kinds of mismatch.
const (
	MismatchUndeclared         = "undeclared"
	MismatchWildcard           = "wildcard"
	MismatchMissingDeclaration = "missing_declaration"
	MismatchOverdeclared       = "overdeclared"
)

// CapabilityReport is the comparison a reviewer and an author's agent read.
type CapabilityReport struct {
	Status     CapabilitiesStatus `json:"status"`
	Declared   *Capabilities      `json:"declared,omitempty"` // nil when nothing was declared
	Observed   Capabilities       `json:"observed"`
	Mismatches []Mismatch         `json:"mismatches"`
	// RiskScore is what the observed capabilities alone are worth, 0 to 100.
	RiskScore int `json:"risk_score"`
	// Patch makes the declaration say what was observed.
	Patch *DeclarationPatch `json:"patch,omitempty"`
}

// RunCapabilities is the capabilities layer: it reads the declaration and compares it
// with what the other layers observed, so it runs after them.
func RunCapabilities(ctx context.Context, b *Bundle, results []LayerResult) (LayerResult, error) {
	began := time.Now()
	if err := ctx.Err(); err != nil {
		return LayerResult{}, fmt.Errorf("scan layer %s: %w", LayerCapabilities, err)
	}
	r := &run{layer: Layer{Name: LayerCapabilities}, bundle: b, findings: newCollector(LayerCapabilities), observed: newObservations(), scanned: 1}
	var report CapabilityReport
	func() {
		defer r.recoverInto("")
		report = compareBundle(r, results)
	}()
	result := r.result(began)
	result.Capabilities = &report
	return result, nil
}

func compareBundle(r *run, results []LayerResult) CapabilityReport {
	declared, err := readDeclaration(r.bundle)
	if err != nil {
		r.findings.indeterminate(r.bundle.declarationPath(declared), "declaration_unreadable", "The declaration of capabilities can't be read: "+visible(err.Error()))
		return CapabilityReport{Status: CapabilitiesIndeterminate, Observed: observedCapabilities(mergeObservations(results)), Mismatches: []Mismatch{}}
	}
	for _, key := range declared.unknown {
		r.findings.add(key.finding(declared.path), key.name)
	}
	var given *Capabilities
	if declared.path != "" {
		given = &declared.Capabilities
		if len(given.Tools) == 0 {
			given.Tools = declared.allowed
			given.normalize()
		}
	}
	report := CompareCapabilities(given, mergeObservations(results))
	if report.Status == CapabilitiesMatched && incomplete(results) {
		report.Status = CapabilitiesIndeterminate
	}
	for _, m := range report.Mismatches {
		r.findings.add(mismatchFinding(m), m.Declared+m.Observed)
	}
	return report
}

func (b *Bundle) declarationPath(d *declaration) string {
	if d != nil {
		return d.path
	}
	return ""
}

// incomplete reports that a layer that observes could not read everything.
func incomplete(results []LayerResult) bool {
	for _, r := range results {
		if r.Status == StatusIndeterminate && (r.Layer == LayerBehavioral || r.Layer == LayerDependencies) {
			return true
		}
	}
	return false
}

// CompareCapabilities compares a declaration (nil for none) with observations, value
// by value. It is pure.
func CompareCapabilities(declared *Capabilities, observed []Observation) CapabilityReport {
	observed = relevant(observed)
	report := CapabilityReport{Declared: declared, Observed: observedCapabilities(observed), Mismatches: []Mismatch{}}
	report.RiskScore = capabilityRisk(observed)
	if declared == nil {
		report.Status = CapabilitiesNotDeclared
		if len(observed) > 0 {
			report.Mismatches = append(report.Mismatches, missingDeclaration(observed))
			report.Patch = NewDeclarationPatch(nil, observed)
		}
		return report
	}
	report.Mismatches = append(report.Mismatches, wildcards(declared)...)
	report.Mismatches = append(report.Mismatches, undeclared(declared, observed)...)
	report.Status = CapabilitiesMatched
	if len(report.Mismatches) > 0 {
		report.Status = CapabilitiesMismatched
		report.Patch = NewDeclarationPatch(declared, observed)
	}
	report.Mismatches = append(report.Mismatches, overdeclared(declared, observed)...)
	return report
}

func observedCapabilities(list []Observation) Capabilities {
	var c Capabilities
	for _, o := range list {
		field := c.field(o.Capability)
		*field = append(*field, o.Value)
	}
	return *c.normalize()
}

// relevant drops what needs no declaration: this machine's own addresses, the
// placeholder domains of documents, commands that only read and arrange.
func relevant(list []Observation) []Observation {
	var out []Observation
	for _, o := range list {
		switch o.Capability {
		case CapNetwork:
			if isLocal(o.Value) || o.Documentary && isPlaceholder(o.Value) {
				continue
			}
		case CapCommand:
			if harmlessCommands[commandName(o.Value)] {
				continue
			}
		case CapVariable:
			if ordinaryVariables[o.Value] {
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

var ordinaryVariables = wordSet(`HOME PATH PWD OLDPWD USER LOGNAME SHELL TERM LANG LC_ALL TMPDIR TMP TEMP EDITOR PAGER COLUMNS LINES DEBUG VERBOSE CI NO_COLOR NODE_ENV
	PYTHONPATH PYTHONUNBUFFERED LOG_LEVEL XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME USERPROFILE APPDATA LOCALAPPDATA HOSTNAME IFS BASH_SOURCE RANDOM SECONDS UID EUID CLAUDE_SKILL_DIR CLAUDE_PLUGIN_ROOT PORT HOST`)

var reasonCodes = map[string]string{
	CapNetwork: "network_domain_not_declared", CapRead: "filesystem_read_path_not_declared", CapWrite: "filesystem_write_path_not_declared",
	CapCommand: "shell_command_not_declared", CapVariable: "env_variable_not_declared", CapServer: "mcp_server_not_declared",
	CapPackage: "package_not_declared", CapTool: "tool_not_declared",
}

func undeclared(declared *Capabilities, observed []Observation) []Mismatch {
	var out []Mismatch
	for _, o := range observed {
		if anyCovers(o.Capability, *declared.field(o.Capability), o.Value) {
			continue
		}
		// What may be written may be read.
		if o.Capability == CapRead && anyCovers(CapWrite, declared.Filesystem.Write, o.Value) {
			continue
		}
		if o.Capability == CapServer && usesServer(declared.Tools, o.Value) {
			continue
		}
		severity, acknowledge := gravity(o)
		out = append(out, Mismatch{
			ReasonCode: reasonCodes[o.Capability], Capability: o.Capability, Kind: MismatchUndeclared, Observed: o.Value,
			Severity: severity, FilePath: o.FilePath, LineStart: o.LineStart, RequiresAcknowledgement: acknowledge, documentary: o.Documentary,
		})
	}
	return out
}

// usesServer reports a tool of that server among the declared ones: mcp__server__tool.
func usesServer(tools []string, server string) bool {
	for _, tool := range tools {
		if rest, ok := strings.CutPrefix(tool, "mcp__"); ok && (rest == server || strings.HasPrefix(rest, server+"__")) {
			return true
		}
	}
	return false
}

func anyCovers(capability string, declared []string, observed string) bool {
	for _, d := range declared {
		if covers(capability, d, observed) {
			return true
		}
	}
	return false
}

// gravity is how much an undeclared use matters and whether approving it needs an
// explicit acknowledgement.
func gravity(o Observation) (Severity, bool) {
	outside := strings.HasPrefix(o.Value, "/") || strings.HasPrefix(o.Value, "~") || strings.HasPrefix(o.Value, "..")
	switch o.Capability {
	case CapNetwork, CapServer:
		return SeverityMedium, true
	case CapCommand:
		if powerfulCommands[commandName(o.Value)] && !interpreters[commandName(o.Value)] {
			return SeverityMedium, true
		}
		return SeverityLow, true
	case CapWrite:
		if outside {
			return SeverityMedium, true
		}
		return SeverityLow, true
	case CapRead:
		if o.Sensitive {
			return SeverityHigh, true
		}
		return SeverityLow, false
	case CapVariable:
		if o.Sensitive {
			return SeverityMedium, true
		}
	}
	return SeverityLow, false
}

// interpreters run the bundle's own scripts, which are read anyway.
var interpreters = wordSet(`python node bash sh zsh npm npx pip git go cargo ruby perl`)

func wildcards(declared *Capabilities) []Mismatch {
	var out []Mismatch
	for _, name := range capabilityNames {
		for _, v := range *declared.field(name) {
			severity, wild := breadth(name, v)
			if !wild {
				continue
			}
			reason := reasonCodes[name]
			if name == CapNetwork {
				reason = "network_wildcard_declared"
			}
			out = append(out, Mismatch{ReasonCode: reason, Capability: name, Kind: MismatchWildcard, Declared: v, Severity: severity, RequiresAcknowledgement: true})
		}
	}
	return out
}

// breadth reports declared values that allow more than a reviewer can oversee.
func breadth(capability, v string) (Severity, bool) {
	switch {
	case capability == CapNetwork && v == "*", capability == CapCommand && v == "*":
		return SeverityMedium, true
	case capability == CapNetwork && strings.HasPrefix(v, "*."):
		if strings.Count(v, ".") == 1 {
			return SeverityMedium, true
		}
		return SeverityLow, true
	case (capability == CapRead || capability == CapWrite) && (v == "/" || v == "/**" || v == "~" || v == "~/**" || v == "~/" || v == "*" || v == "**"):
		if capability == CapWrite {
			return SeverityMedium, true
		}
		return SeverityLow, true
	case capability != CapRead && capability != CapWrite && v == "*":
		return SeverityLow, true
	}
	return "", false
}

func overdeclared(declared *Capabilities, observed []Observation) []Mismatch {
	used := map[string][]string{}
	for _, o := range observed {
		used[o.Capability] = append(used[o.Capability], o.Value)
	}
	var out []Mismatch
	for _, name := range []string{CapNetwork, CapVariable, CapServer} {
		for _, d := range *declared.field(name) {
			if _, wild := breadth(name, d); wild || coversAny(name, d, used[name]) {
				continue
			}
			out = append(out, Mismatch{ReasonCode: "capability_not_observed", Capability: name, Kind: MismatchOverdeclared, Declared: d, Severity: SeverityInfo})
		}
	}
	return out
}

func coversAny(capability, declared string, observed []string) bool {
	for _, o := range observed {
		if covers(capability, declared, o) {
			return true
		}
	}
	return false
}

func missingDeclaration(observed []Observation) Mismatch {
	first := observed[0]
	acknowledge := false
	for _, o := range observed {
		_, ack := gravity(o)
		acknowledge = acknowledge || ack && !o.Documentary
	}
	return Mismatch{
		ReasonCode: "capabilities_not_declared", Capability: first.Capability, Kind: MismatchMissingDeclaration, Observed: first.Value,
		Severity: SeverityLow, FilePath: first.FilePath, LineStart: first.LineStart, RequiresAcknowledgement: acknowledge,
	}
}
