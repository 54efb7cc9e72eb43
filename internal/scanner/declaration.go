package scanner

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Capabilities is a declaration and, in the same shape, what was observed. Every
// list is present and sorted, so two of them can be compared and patched.
type Capabilities struct {
	SchemaVersion string                `json:"schema_version" yaml:"schema_version"`
	Network       NetworkCapability     `json:"network" yaml:"network"`
	Filesystem    FilesystemCapability  `json:"filesystem" yaml:"filesystem"`
	Shell         ShellCapability       `json:"shell" yaml:"shell"`
	Env           EnvironmentCapability `json:"env" yaml:"env"`
	MCP           ContextServerCapacity `json:"mcp" yaml:"mcp"`
	Packages      []string              `json:"packages" yaml:"packages"`
	Tools         []string              `json:"tools" yaml:"tools"`
}

// NetworkCapability lists hosts: exact names, or *.name for every name below it.
type NetworkCapability struct {
	Domains []string `json:"domains" yaml:"domains"`
}

// FilesystemCapability lists paths and globs outside of and inside the workspace.
type FilesystemCapability struct {
	Read  []string `json:"read" yaml:"read"`
	Write []string `json:"write" yaml:"write"`
}

// ShellCapability lists programs by name.
type ShellCapability struct {
	Commands []string `json:"commands" yaml:"commands"`
}

// EnvironmentCapability lists environment variables.
type EnvironmentCapability struct {
	Variables []string `json:"variables" yaml:"variables"`
}

// ContextServerCapacity lists Model Context Protocol servers.
type ContextServerCapacity struct {
	Servers []string `json:"servers" yaml:"servers"`
}

const declarationSchema = "1"

// field returns the list that a capability's name stands for.
func (c *Capabilities) field(capability string) *[]string {
	switch capability {
	case CapNetwork:
		return &c.Network.Domains
	case CapRead:
		return &c.Filesystem.Read
	case CapWrite:
		return &c.Filesystem.Write
	case CapCommand:
		return &c.Shell.Commands
	case CapVariable:
		return &c.Env.Variables
	case CapServer:
		return &c.MCP.Servers
	case CapPackage:
		return &c.Packages
	case CapTool:
		return &c.Tools
	}
	return new([]string)
}

var capabilityNames = []string{CapNetwork, CapRead, CapWrite, CapCommand, CapVariable, CapServer, CapPackage, CapTool}

// normalize sorts, deduplicates and fills in empty lists.
func (c *Capabilities) normalize() *Capabilities {
	if c.SchemaVersion == "" {
		c.SchemaVersion = declarationSchema
	}
	for _, name := range capabilityNames {
		list := c.field(name)
		seen := map[string]bool{}
		clean := []string{}
		for _, v := range *list {
			if v = strings.TrimSpace(v); v != "" && !seen[v] {
				seen[v] = true
				clean = append(clean, v)
			}
		}
		sort.Strings(clean)
		*list = clean
	}
	return c
}

// declaration is a bundle's declared capabilities and where they stand.
type declaration struct {
	Capabilities
	path    string // "" when there is none
	allowed []string
	unknown []unknownKey
}

// readDeclaration finds the declaration: capabilities.yaml beside the main file, or
// the front matter's capabilities key. A declaration that can't be read is an error.
func readDeclaration(b *Bundle) (*declaration, error) {
	d := &declaration{}
	front := frontMatterOf(b)
	d.allowed = stringList(front.node("allowed-tools"))
	for _, name := range []string{"capabilities.yaml", "capabilities.yml", "capabilities.json"} {
		f, ok := b.lookup(path.Join(b.Root(), name))
		if !ok {
			continue
		}
		text, err := f.readText()
		if err != nil {
			return nil, err
		}
		d.path = f.Path
		if len(text) > maxSettings {
			return d, errTooLarge
		}
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			return d, fmt.Errorf("parse %s: %w", f.Path, err)
		}
		err = d.fill(documentContent(&root))
		return d, err
	}
	if front.err != nil {
		return d, front.err
	}
	if node := front.node("capabilities"); node != nil {
		d.path = front.path
		err := d.fill(node)
		return d, err
	}
	return d, nil
}

func documentContent(root *yaml.Node) *yaml.Node {
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		return root.Content[0]
	}
	return root
}

// fill reads a declaration leniently: "network: [a]" means the same as
// "network: {domains: [a]}", since authors write both (see declaration_keys.go).
func (d *declaration) fill(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: a declaration is a mapping", d.path)
	}
	if inner := child(node, "capabilities"); inner != nil && inner.Kind == yaml.MappingNode {
		node = inner
	}
	if v := child(node, "schema_version"); v != nil {
		d.SchemaVersion = v.Value
	}
	d.fillParts(node)
	d.normalize()
	return nil
}

func domainsOf(list []string) []string {
	for i, v := range list {
		if host := hostOf(v); host != "" {
			v = host
		}
		list[i] = strings.ToLower(strings.TrimSuffix(strings.Split(v, ":")[0], "/"))
	}
	return list
}

func child(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// stringList reads a list of strings, of objects with a name, or one string with
// commas or spaces in it.
func stringList(node *yaml.Node) []string {
	if node == nil {
		return nil
	}
	var out []string
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!null" || node.Tag == "!!bool" {
			return nil
		}
		return splitTools(node.Value)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind == yaml.ScalarNode {
				out = append(out, item.Value)
				continue
			}
			out = append(out, nameOfItem(item)...)
		}
	}
	return out
}

// nameOfItem is what an item with further remarks is about: its name, or the one key
// that it has.
func nameOfItem(item *yaml.Node) []string {
	for _, key := range []string{"name", "domain", "host", "url", "path", "command", "server", "package", "variable"} {
		if v := child(item, key); v != nil {
			return []string{v.Value}
		}
	}
	if item.Kind == yaml.MappingNode && len(item.Content) == 2 {
		return []string{item.Content[0].Value}
	}
	return nil
}

// splitTools cuts "Read, Bash(git add:*) Write" outside of parentheses.
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ')
	})
}

// frontMatter is the YAML head of the main file.
type frontMatter struct {
	path string
	root *yaml.Node
	err  error
	has  bool
}

func (f frontMatter) node(key string) *yaml.Node { return child(f.root, key) }

func (f frontMatter) text(key string) string {
	if n := f.node(key); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

func frontMatterOf(b *Bundle) frontMatter {
	main, ok := b.MainFile()
	if !ok {
		return frontMatter{}
	}
	text, err := main.readText()
	if err != nil {
		return frontMatter{path: main.Path, err: err}
	}
	f := parseFrontMatter(text)
	f.path = main.Path
	return f
}

const maxFrontMatter = 64 << 10

func parseFrontMatter(text string) frontMatter {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text[:min(len(text), maxFrontMatter)], "\r\n", "\n"), "---\n")
	if !ok {
		return frontMatter{}
	}
	head, _, closed := strings.Cut("\n"+rest, "\n---")
	if !closed {
		return frontMatter{has: true, err: fmt.Errorf("front matter is not closed")}
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(head), &root); err != nil {
		return frontMatter{has: true, err: fmt.Errorf("parse front matter: %w", err)}
	}
	return frontMatter{has: true, root: documentContent(&root)}
}
