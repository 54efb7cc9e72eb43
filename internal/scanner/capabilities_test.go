package scanner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	tools := []string{"Read", "mcp__weather__forecast", "mcp__maps"}
	for server, want := range map[string]bool{"weather": true, "maps": true, "weath": false, "Read": false} {
		if got := usesServer(tools, server); got != want {
			t.Errorf("%s: %v", server, got)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		capability, declared, observed string
		want                           bool
	}{
		{CapNetwork, "api.example.com", "api.example.com", true},
		{CapNetwork, "*.example.com", "sub.example.com", true},
		{CapNetwork, "*.example.com", "example.com", false},
		{CapNetwork, "*.example.com", "evil-example.com", false},
		{CapNetwork, "example.com", "sub.example.com", false},
		{CapNetwork, "*", "anything.test", true},
		{CapWrite, "~/.cache/app/**", "$HOME/.cache/app/a/b", true},
		{CapWrite, "~/.cache/app", "~/.cache/application", false},
		{CapWrite, "~/.cache/app/**", "~/.cache/app", true},
		{CapWrite, "~/.cache/app/**", "~/.cache", false},
		{CapRead, "data", "data/x.csv", true},
		{CapRead, ".", "../x", false},
		{CapCommand, "/usr/bin/python3", "python", true},
		{CapCommand, "git", "gitk", false},
		{CapPackage, "Scikit_Learn>=1", "scikit-learn", true},
		{CapTool, "Bash(git:*)", "Bash", true},
		{CapPackage, "npm:left-pad@1.3.0", "left-pad", true},
		{CapPackage, "npm:@scope/name@^2", "@scope/name", true},
		{CapPackage, "pypi:requests", "requests", true},
		{CapPackage, "psycopg2-binary", "psycopg2", true},
		{CapPackage, "gem:ruby_fints", "ruby-fints", true},
		{CapVariable, "WEATHER_*", "WEATHER_KEY", true},
	} {
		if got := covers(c.capability, c.declared, c.observed); got != c.want {
			t.Errorf("covers(%s, %q, %q) = %v", c.capability, c.declared, c.observed, got)
		}
	}
}

func TestCompareCapabilitiesUnderDeclaredDomain(t *testing.T) {
	t.Parallel()
	declared := (&Capabilities{Network: NetworkCapability{Domains: []string{"api.example.com"}}}).normalize()
	observed := []Observation{
		{Capability: CapNetwork, Value: "api.example.com", FilePath: "run.py", LineStart: 3},
		{Capability: CapNetwork, Value: "metrics.example.net", FilePath: "run.py", LineStart: 7},
		{Capability: CapNetwork, Value: "localhost", FilePath: "run.py", LineStart: 9},
	}
	report := CompareCapabilities(declared, observed)
	want := []Mismatch{{
		ReasonCode: "network_domain_not_declared", Capability: CapNetwork, Kind: MismatchUndeclared, Observed: "metrics.example.net",
		Severity: SeverityMedium, FilePath: "run.py", LineStart: 7, RequiresAcknowledgement: true,
	}}
	if diff := cmp.Diff(want, report.Mismatches, cmp.AllowUnexported(Mismatch{})); diff != "" {
		t.Error(diff)
	}
	if report.Status != CapabilitiesMismatched {
		t.Errorf("status %s", report.Status)
	}
	// The patched declaration matches: an author's agent needs nothing else.
	if again := CompareCapabilities(&report.Patch.Result, observed); again.Status != CapabilitiesMatched {
		t.Errorf("after the patch: %s %+v", again.Status, again.Mismatches)
	}
	if diff := cmp.Diff([]PatchOperation{{Op: "add", Path: "/network/domains/-", Value: "metrics.example.net"}}, report.Patch.Operations); diff != "" {
		t.Error(diff)
	}
}

func TestCompareCapabilitiesWildcardAndMissing(t *testing.T) {
	t.Parallel()
	observed := []Observation{{Capability: CapNetwork, Value: "a.example.net", FilePath: "x.sh", LineStart: 1}}
	wild := CompareCapabilities((&Capabilities{Network: NetworkCapability{Domains: []string{"*"}}}).normalize(), observed)
	if len(wild.Mismatches) != 1 || wild.Mismatches[0].ReasonCode != "network_wildcard_declared" || !wild.Mismatches[0].RequiresAcknowledgement {
		t.Errorf("wildcard: %+v", wild.Mismatches)
	}
	if diff := cmp.Diff([]string{"a.example.net"}, wild.Patch.Result.Network.Domains); diff != "" {
		t.Error(diff)
	}
	missing := CompareCapabilities(nil, observed)
	if missing.Status != CapabilitiesNotDeclared || len(missing.Mismatches) != 1 || missing.Mismatches[0].Kind != MismatchMissingDeclaration {
		t.Errorf("missing: %+v", missing)
	}
}
