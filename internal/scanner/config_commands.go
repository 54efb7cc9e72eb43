package scanner

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// commandKeys name the settings whose value is a command line.
var commandKeys = wordSet("command run exec script scripts entrypoint shell postcreatecommand poststartcommand initializecommand onstartup cmd prebuild postbuild before_script after_script install preinstall postinstall prepare hook steps")

// commandsOf reads commands that configuration files start: hooks, task runners,
// workflows, container definitions, make targets, context servers.
func (v *visit) commandsOf(text string) {
	p := v.newProgram(text)
	p.declared = v.declaredDomains()
	if teachesSecurity(v.bundle) {
		p.weight *= 0.6 // an excerpt to be looked at
	}
	name := strings.ToLower(v.file.Path)
	switch {
	case strings.HasSuffix(name, "makefile"), strings.HasSuffix(name, "justfile"), strings.HasSuffix(name, ".mk"):
		p.prefixedCommands("\t")
	case strings.Contains(name, "dockerfile"), strings.Contains(name, "containerfile"):
		p.prefixedCommands("RUN ")
	case strings.HasSuffix(name, ".service"), strings.HasSuffix(name, ".desktop"):
		p.prefixedCommands("ExecStart=")
		p.prefixedCommands("Exec=")
	case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"):
		if strings.HasSuffix(name, "capabilities.yaml") || len(text) > maxSettings {
			return
		}
		var root yaml.Node
		// What is no YAML has no settings; the text rules read it all the same.
		if yaml.Unmarshal([]byte(text), &root) == nil {
			p.hooks = agentHooks.MatchString(text)
			p.settings(documentContent(&root), "", 0)
		}
	}
}

var (
	workflowValue = regexp.MustCompile(`\$\{\{[^}]*\}\}`)
	packageLike   = regexp.MustCompile(`^@?[a-z0-9][\w./-]*(@[\w.^~-]+)?$`)
	versioned     = regexp.MustCompile(`.@[\d^~]|==`)
)

const maxSettings = 1 << 20

func (p *program) prefixedCommands(prefix string) {
	for i, line := range p.lines {
		trimmed := line
		if prefix != "\t" {
			trimmed = strings.TrimSpace(line)
		}
		if command, ok := strings.CutPrefix(trimmed, prefix); ok && len(command) < maxPassage && p.v.ctx.Err() == nil {
			p.nestedShell(i+1, constant(strings.NewReplacer("$$", "$", "$(", "$(", "$@", "target").Replace(strings.TrimLeft(command, "@- "))))
		}
	}
}

// settings walks a document for commands and for context servers.
func (p *program) settings(n *yaml.Node, key string, depth int) {
	if depth > 40 || p.v.ctx.Err() != nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if name == "mcpServers" || name == "mcp_servers" || name == "context_servers" {
				p.contextServers(n.Content[i+1])
			}
			p.settings(n.Content[i+1], strings.ToLower(name), depth+1)
		}
		p.commandWithArguments(n)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			p.settings(item, key, depth+1)
		}
	case yaml.ScalarNode:
		if commandKeys[key] && n.Value != "" && len(n.Value) < maxPassage {
			p.commandText(n.Line, n.Value)
			p.hookFetches(n, key)
		}
	}
}

func (p *program) commandText(line int, text string) {
	for i, part := range strings.Split(text, "\n") {
		if strings.TrimSpace(part) != "" {
			p.nestedShell(line+i, constant(workflowValue.ReplaceAllString(part, "$${GITHUB_EXPRESSION}")))
		}
	}
}

// commandWithArguments is {"command": "npx", "args": ["-y", …]}.
func (p *program) commandWithArguments(n *yaml.Node) {
	command, args := child(n, "command"), child(n, "args")
	if command == nil || command.Kind != yaml.ScalarNode || args == nil || args.Kind != yaml.SequenceNode {
		return
	}
	var sb strings.Builder
	sb.WriteString(command.Value)
	for _, a := range args.Content {
		sb.WriteString(" '" + strings.ReplaceAll(a.Value, "'", "") + "'")
	}
	p.nestedShell(command.Line, constant(sb.String()))
}

// contextServers observes Model Context Protocol servers; one that is fetched when it
// starts, without a version, is code nobody has reviewed.
func (p *program) contextServers(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, server := n.Content[i], n.Content[i+1]
		p.observe(CapServer, name.Value, name.Line, false)
		if url := child(server, "url"); url != nil {
			if host := hostOf(url.Value); host != "" && !isLocal(host) {
				p.observe(CapNetwork, host, url.Line, false)
			}
		}
		command := child(server, "command")
		for _, a := range stringList(child(server, "args")) {
			if host := hostOf(a); host != "" && !isLocal(host) {
				p.observe(CapNetwork, host, name.Line, false)
			}
			if command != nil && (command.Value == "npx" || command.Value == "uvx" || command.Value == "bunx") && !strings.HasPrefix(a, "-") && packageLike.MatchString(a) && !versioned.MatchString(a) {
				p.report(bUnpinnedServer, name.Line, 0.65, a)
			}
		}
	}
}

// hookFetches: what a hook of an agent prints becomes part of the agent's context, so
// a hook that prints a download gives it orders from outside, new ones at each start.
func (p *program) hookFetches(n *yaml.Node, key string) {
	if key != "command" || !p.hooks || !fetchToOutput.MatchString(n.Value) {
		return
	}
	p.report(bSelfUpdate, n.Line, 0.75, "a hook whose output the agent reads")
}

var (
	agentHooks    = regexp.MustCompile(`"?(?:SessionStart|UserPromptSubmit|PreToolUse|PostToolUse|PreCompact|SubagentStop|beforeSubmitPrompt|sessionStart)"?\s*:`)
	fetchToOutput = regexp.MustCompile(`^\s*(?:curl|wget\s[^|;&]*-\w*O\s*-)\b[^|;&>]*https?://[^|;&>]*(?:$|\|\|)`)
)
