package scanner

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sectionFiles is the key that holds both kinds of path.
const sectionFiles = "filesystem"

// declarationKeys are the names under which authors write a part of a declaration,
// spelled as plainKey leaves them. The first of each list is the documented one;
// docs/capabilities.md lists the others.
var declarationKeys = map[string][]string{
	CapNetwork:   {"network", "domains", "hosts", "urls", "endpoints", "internet", "egress", "outbound", "networkdomains", "networkhosts"},
	CapCommand:   {"shell", "commands", "programs", "binaries", "executables", "shellcommands"},
	CapVariable:  {"env", "variables", "vars", "environment", "envvars", "envvariables", "environmentvariables", "secrets"},
	CapServer:    {"mcp", "servers", "mcpservers", "contextservers"},
	CapPackage:   {"packages", "dependencies", "libraries", "requirements", "npm", "pypi", "pip", "cargo", "crates", "gems", "pythonpackages", "npmpackages"},
	CapTool:      {"tools", "agenttools"},
	CapRead:      {"read", "reads", "readpaths", "readfiles", "filesystemread", "fsread", "filesread"},
	CapWrite:     {"write", "writes", "writepaths", "writefiles", "filesystemwrite", "fswrite", "fileswrite"},
	sectionFiles: {"filesystem", "fs", "files", "paths"},
}

// partOfKey is declarationKeys the other way round.
var partOfKey = func() map[string]string {
	parts := map[string]string{}
	for part, keys := range declarationKeys {
		for _, key := range keys {
			parts[key] = part
		}
	}
	return parts
}()

var (
	// listKeys name the list inside of a part without saying more than the part does.
	listKeys = wordSet("allow allowed required list names optional use uses read")
	// remarkKeys are for the reader.
	remarkKeys = wordSet("schemaversion version name title description reason reasons purpose why note notes comment comments license licence author authors")
	// nothing is how authors say that they need none.
	nothing = wordSet("none no nothing null n/a - false")
)

// unknownKey is a key of a declaration that nobody reads.
type unknownKey struct {
	name, hint string
	line       int
}

// plainKey is a key without spelling: envVars, env-vars and allowed_env_vars are one.
func plainKey(key string) string {
	plain := strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(key))
	for _, prefix := range []string{"allowed", "required"} {
		if rest := strings.TrimPrefix(plain, prefix); rest != "" {
			plain = rest
		}
	}
	return plain
}

// fillParts reads every key of a declaration: a key that is not known is remembered,
// since its author believes that it declares something.
func (d *declaration) fillParts(node *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		plain := plainKey(key.Value)
		part, known := partOfKey[plain]
		switch {
		case known && value.Kind == yaml.MappingNode:
			d.fillSection(key.Value, part, value)
		case known && part != sectionFiles:
			d.declare(part, stringList(value))
		case known && len(meant(stringList(value))) == 0:
		case !remarkKeys[plain] && !strings.HasPrefix(key.Value, "x-"):
			d.unknown = append(d.unknown, unknownKey{key.Value, hintFor(plain), key.Line})
		}
	}
}

// fillSection reads a part that is a mapping: of lists, or of names to remarks.
func (d *declaration) fillSection(name, part string, section *yaml.Node) {
	for i := 0; i+1 < len(section.Content); i += 2 {
		key, value := section.Content[i], section.Content[i+1]
		plain := plainKey(key.Value)
		inner, known := partOfKey[plain]
		switch {
		case part == sectionFiles && (inner == CapRead || inner == CapWrite):
			d.declare(inner, stringList(value))
		case part == sectionFiles && plain == "readwrite":
			d.declare(CapRead, stringList(value))
			d.declare(CapWrite, stringList(value))
		case part == sectionFiles:
			d.unknownInside(name, part, key)
		case known && inner == part && value.Kind == yaml.MappingNode:
			d.declare(part, namesOf(part, value))
		case known && inner == part, listKeys[plain] && value.Kind != yaml.MappingNode:
			d.declare(part, stringList(value))
		case part == CapPackage && value.Kind == yaml.SequenceNode:
			d.declare(part, stringList(value)) // by registry
		case remarkKeys[plain]:
		case isName(part, key, value):
			d.declare(part, []string{key.Value})
		default:
			d.unknownInside(name, part, key)
		}
	}
}

func (d *declaration) unknownInside(section, part string, key *yaml.Node) {
	if !remarkKeys[plainKey(key.Value)] {
		d.unknown = append(d.unknown, unknownKey{section + "." + key.Value, documentedKey(part), key.Line})
	}
}

// namesOf reads a mapping from names to what belongs to them, as in mcpServers.
func namesOf(part string, section *yaml.Node) []string {
	var out []string
	for i := 0; i+1 < len(section.Content); i += 2 {
		if isName(part, section.Content[i], section.Content[i+1]) {
			out = append(out, section.Content[i].Value)
		}
	}
	return out
}

var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// isName reports a key that is itself a value: the variable, server, host or package
// that its remark, version or settings are about.
func isName(part string, key, value *yaml.Node) bool {
	if value.Kind == yaml.SequenceNode || value.Tag == "!!bool" {
		return false
	}
	switch part {
	case CapVariable:
		return variableName.MatchString(key.Value)
	case CapNetwork:
		return strings.Contains(key.Value, ".")
	}
	return true
}

func (d *declaration) declare(capability string, values []string) {
	if capability == CapNetwork {
		values = domainsOf(values)
	}
	field := d.field(capability)
	*field = append(*field, meant(values)...)
}

// meant leaves out the words for nothing at all.
func meant(values []string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return nothing[strings.ToLower(strings.TrimSpace(v))] })
}

// documentedKey is how docs/capabilities.md writes a part.
func documentedKey(part string) string {
	if part == sectionFiles {
		return CapRead + " or " + CapWrite
	}
	return part
}

// hintFor is the part whose key is spelled most like an unknown one, "" if none is.
func hintFor(plain string) string {
	if part, known := partOfKey[plain]; known {
		return documentedKey(part)
	}
	parts := slices.Sorted(maps.Keys(declarationKeys))
	for _, part := range parts {
		for _, key := range declarationKeys[part] {
			if len(key) >= 4 && distance(plain, key) == 1 {
				return documentedKey(part)
			}
		}
	}
	return ""
}

// finding tells the author that a key declares nothing.
func (k unknownKey) finding(path string) Finding {
	message := visible(k.name) + " is no part of a declaration, so nothing is declared by it."
	if k.hint != "" {
		message += " Did you mean " + k.hint + "?"
	}
	return Finding{
		RuleID: "capabilities.unknown_key", Category: "undeclared_capability", Severity: SeverityLow, Confidence: 0.6,
		Title: "Unknown key in the declaration", Message: message, Remediation: "See docs/capabilities.md for the keys of a declaration.",
		FilePath: path, LineStart: k.line, Snippet: k.name,
	}
}
