package scanner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func declarationOf(t *testing.T, text string) *declaration {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	d := &declaration{path: "capabilities.yaml"}
	if err := d.fill(documentContent(&root)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeclarationAliases(t *testing.T) {
	t.Parallel()
	want := declarationOf(t, `
network: {domains: [api.example.com]}
filesystem: {read: [~/in], write: [~/out]}
shell: {commands: [git]}
env: {variables: [API_TOKEN]}
mcp: {servers: [weather]}
packages: ["npm:left-pad@1.3.0", "pypi:requests"]
tools: [Bash]`).Capabilities
	for name, text := range map[string]string{
		"flat": `
allowed_domains: ["https://api.example.com/v1"]
read: [~/in]
filesystem.write: [~/out]
commands: [git]
environment: [API_TOKEN]
mcp_servers: [weather]
packages: ["npm:left-pad@1.3.0", "pypi:requests"]
agent_tools: [Bash]`,
		"sections": `
network: {egress: [api.example.com]}
fs: {read: [~/in], writes: [~/out]}
shell: {allowed: [git]}
environment: {variables: [API_TOKEN], reason: to log in}
mcpServers: {weather: {command: uv}}
dependencies: {npm: ["npm:left-pad@1.3.0"], pypi: ["pypi:requests"]}
tools: {allow: [Bash], note: for tests}`,
		"names with remarks": `
version: 1
network: {api.example.com: the forecast}
filesystem: {read: [{path: ~/in}], write: [~/out]}
commands: [{git: reads the log}]
env-vars: {API_TOKEN: to log in}
mcp: {weather: local}
packages: ["npm:left-pad@1.3.0", "pypi:requests"]
tools: Bash`,
	} {
		d := declarationOf(t, text)
		if diff := cmp.Diff(want, d.Capabilities); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(d.unknown) > 0 {
			t.Errorf("%s: unknown keys %v", name, d.unknown)
		}
	}
}

func TestDeclarationOfNothing(t *testing.T) {
	t.Parallel()
	d := declarationOf(t, "network: none\nfilesystem: none\ncommands: []\nenv: false\ntools: n/a")
	if diff := cmp.Diff(*new(Capabilities).normalize(), d.Capabilities); diff != "" || len(d.unknown) > 0 {
		t.Error(diff, d.unknown)
	}
}

func TestDeclarationUnknownKeys(t *testing.T) {
	t.Parallel()
	d := declarationOf(t, "comands: [git]\nfiles: [~/in]\nblockchain: [x]\nnetwork: {enabled: true}\nx-own: 1\ndescription: d")
	want := []unknownKey{
		{"comands", CapCommand, 1}, {"files", "filesystem.read or filesystem.write", 2}, {"blockchain", "", 3}, {"network.enabled", CapNetwork, 4},
	}
	if diff := cmp.Diff(want, d.unknown, cmp.AllowUnexported(unknownKey{})); diff != "" {
		t.Error(diff)
	}
	b := MemoryBundle(map[string]string{
		"SKILL.md":          "---\nname: a\ndescription: b\n---\n# A\n",
		"capabilities.yaml": "comands: [git]\n",
	})
	result, err := RunCapabilities(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Findings) != 1 || result.Findings[0].RuleID != "capabilities.unknown_key" || result.Findings[0].LineStart != 1 || result.Findings[0].Severity != SeverityLow {
		t.Errorf("%+v", result.Findings)
	}
}
