package scanner

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"
)

func structureLayer() Layer {
	return Layer{Name: LayerStructure, Limit: time.Minute, visit: visitStructure, after: structureOfBundle}
}

// structureRule describes the rules of this layer for findings and documentation.
type structureRule struct {
	category, title, message, remediation string
	severity                              Severity
	confidence                            float64
}

var structureRules = map[string]structureRule{
	"structure.main.missing":           {"structure", "No main file", "The bundle has neither SKILL.md nor COURSE.md at its root.", "Add SKILL.md or COURSE.md.", SeverityHigh, 0.75},
	"structure.front_matter.missing":   {"structure", "No front matter", "SKILL.md has no front matter with name and description.", "Begin SKILL.md with a front matter block.", SeverityLow, 0.9},
	"structure.front_matter.invalid":   {"structure", "Front matter can't be read", "The front matter is no valid YAML.", "Correct the YAML.", SeverityMedium, 0.8},
	"structure.front_matter.field":     {"structure", "Front matter breaks the Agent Skills format", "A field of the front matter is missing or too long.", "See the Agent Skills specification.", SeverityLow, 0.9},
	"structure.front_matter.any_tool":  {"autonomy_abuse", "Pre-approves unlimited commands", "allowed-tools lets the skill run any command without asking.", "List the commands that are needed, as in Bash(git status:*).", SeverityLow, 0.6},
	"structure.file.executable_binary": {"structure", "Compiled program", "The file is machine code, which can't be reviewed.", "Ship source instead.", SeverityHigh, 0.75},
	"structure.file.opaque":            {"structure", "Opaque binary file", "The file's format is unknown, so its content can't be reviewed.", "Ship a documented format, or explain the file.", SeverityMedium, 0.62},
	"structure.file.nested_archive":    {"structure", "Archive inside the bundle", "Files inside the archive are not reviewed.", "Unpack the archive into the bundle.", SeverityMedium, 0.7},
	"structure.file.disguised":         {"hidden_content", "File is not what its name says", "The content's format does not fit the extension.", "Name the file by its content.", SeverityHigh, 0.8},
	"structure.file.double_extension":  {"social_engineering", "Double extension", "The name poses as a harmless document in front of an executable extension.", "Use one extension.", SeverityHigh, 0.82},
	"structure.file.misleading_name":   {"hidden_content", "Misleading file name", "The name holds invisible, direction-changing or look-alike characters.", "Use plain letters.", SeverityHigh, 0.85},
	"structure.file.path_escape":       {"structure", "Path leaves the bundle", "The path is absolute or climbs out of the bundle.", "Use relative paths.", SeverityCritical, 0.95},
	"structure.file.hidden_code":       {"hidden_content", "Program in a hidden file", "A program lies in a hidden file or folder that a reviewer may not see listed.", "Move it to a visible folder.", SeverityMedium, 0.62},
	"structure.file.startup_hook":      {"persistence", "File that tools run by themselves", "Interpreters, editors, package managers or agents run this file without being asked.", "Remove it, or explain it.", SeverityMedium, 0.65},
	"structure.text.bidirectional":     {"hidden_content", "Text that changes reading direction", "Direction controls make text look different from what a program or model reads.", "Remove the control characters.", SeverityHigh, 0.85},
	"structure.text.invisible_message": {"hidden_content", "Message in invisible characters", "Tag characters, variation selectors or long runs of zero-width characters can carry a message that no reader sees.", "Remove the invisible characters.", SeverityCritical, 0.9},
	"structure.text.zero_width":        {"hidden_content", "Zero-width characters inside words", "Words are split by characters that nobody sees, which hides them from a search.", "Remove the invisible characters.", SeverityMedium, 0.75},
	"structure.text.mixed_script":      {"obfuscation", "Look-alike letters", "Words mix Latin letters with look-alikes of other scripts.", "Write the words in one script.", SeverityMedium, 0.72},
	"structure.text.padding":           {"hidden_content", "Text pushed out of sight", "Long runs of blank lines or spaces push text to where a reader does not look.", "Remove the padding.", SeverityMedium, 0.72},
	"structure.text.terminal_escape":   {"hidden_content", "Terminal control sequences", "Escape sequences can hide or rewrite what a terminal shows.", "Remove the sequences.", SeverityMedium, 0.7},
	"structure.text.escaped_letters":   {"obfuscation", "Plain letters written as escapes", "Ordinary letters are written as character escapes, which hides words from readers and searches.", "Write the text plainly.", SeverityHigh, 0.7},
	"structure.text.control_bytes":     {"obfuscation", "Program with control bytes", "The file holds bytes that make readers and scanners take it for data, while interpreters skip them.", "Remove the control bytes.", SeverityHigh, 0.75},
	"structure.text.long_line":         {"obfuscation", "Very long line of program text", "Code is hidden far to the right or packed into one line.", "Format the source.", SeverityLow, 0.5},
	"structure.bundle.too_many_files":  {"structure", "Too many files", "The bundle has more files than allowed.", "Split the bundle.", SeverityMedium, 0.9},
	"structure.bundle.too_large":       {"structure", "Bundle is too large", "The bundle's files are larger than allowed.", "Make the bundle smaller.", SeverityMedium, 0.9},
}

func (r *run) structure(rule, file string, line int, snippet, key string) {
	r.structureAt(rule, file, line, snippet, key, false)
}

// structureAt is structure for what the bundle says openly.
func (r *run) structureAt(rule, file string, line int, snippet, key string, openly bool) {
	s := structureRules[rule]
	confidence := s.confidence
	if openly {
		confidence *= 0.6
	}
	if roleOf(file) == roleTest && strings.HasPrefix(rule, "structure.text.") {
		confidence *= roleFactor(roleTest)
	}
	r.findings.add(Finding{
		RuleID: rule, Category: s.category, Severity: s.severity, Confidence: confidence, Title: s.title, Message: s.message, Remediation: s.remediation,
		FilePath: file, LineStart: line, Snippet: snippet,
	}, key)
}

func structureOfBundle(r *run) {
	if len(r.bundle.Files) > MaxFiles {
		r.structure("structure.bundle.too_many_files", "", 0, "", "")
	}
	total := int64(0)
	for _, f := range r.bundle.Files {
		total += f.Size
	}
	if total > MaxUnpackedBytes {
		r.structure("structure.bundle.too_large", "", 0, "", "")
	}
	main, ok := r.bundle.MainFile()
	if !ok {
		r.structure("structure.main.missing", "", 0, "", "")
		return
	}
	if path.Base(main.Path) == "SKILL.md" {
		r.frontMatter()
	}
}

var skillName = regexp.MustCompile(`^[\p{Ll}\p{Nd}]+(-[\p{Ll}\p{Nd}]+)*$`)

// frontMatter checks what the Agent Skills specification asks for.
func (r *run) frontMatter() {
	front := frontMatterOf(r.bundle)
	switch {
	case front.err != nil:
		r.structure("structure.front_matter.invalid", front.path, 1, visible(front.err.Error()), "")
		return
	case !front.has:
		r.structure("structure.front_matter.missing", front.path, 1, "", "")
		return
	}
	if name := front.text("name"); name == "" || len(name) > 64 || !skillName.MatchString(name) {
		r.structure("structure.front_matter.field", front.path, 1, "name: "+name, "name")
	}
	if d := front.text("description"); d == "" || len(d) > 1024 {
		r.structure("structure.front_matter.field", front.path, 1, "description", "description")
	}
	for _, tool := range stringList(front.node("allowed-tools")) {
		if tool == "*" || tool == "Bash(*)" || tool == "Bash(*:*)" {
			r.structure("structure.front_matter.any_tool", front.path, 1, tool, tool)
		}
	}
}

var (
	doubleExtension = regexp.MustCompile(`(?i)\.(pdf|docx?|xlsx?|pptx?|txt|md|png|jpe?g|gif|mp[34]|csv|html?|json|zip)\.(exe|scr|bat|cmd|com|pif|ps1|vbs|js|jse|wsf|hta|msi|lnk|sh|command|app|jar|py|dmg|apk)$`)
	startupFile     = regexp.MustCompile(`(?i)(^|/)(sitecustomize\.py|usercustomize\.py|[^/]+\.pth|\.envrc|\.git/hooks/[^/]+|\.githooks/[^/]+|\.husky/[^/]+|\.vscode/tasks\.json|\.claude/(settings(\.local)?\.json|hooks/[^/]+)|\.devcontainer/devcontainer\.json|autorun\.inf|desktop\.ini|\.bashrc|\.zshrc|\.profile|\.bash_profile|\.mcp\.json|\.npmrc|\.pypirc|pip\.conf|\.gitconfig|\.gitmodules|conftest\.py)$`)
	quietStartup    = regexp.MustCompile(`(?i)(^|/)(conftest\.py|\.gitmodules|\.npmrc|\.husky/[^/]+|\.mcp\.json|\.devcontainer/devcontainer\.json)$`)
)

func visitStructure(v *visit) {
	name := v.file.Path
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, "/../") || strings.Contains(name, `..\`) || (len(name) > 1 && name[1] == ':') {
		v.structure("structure.file.path_escape", name, 0, name, name)
	}
	if base := path.Base(name); doubleExtension.MatchString(base) {
		v.structure("structure.file.double_extension", name, 0, base, base)
	}
	if misleadingName(name) {
		v.structure("structure.file.misleading_name", name, 0, name, name)
	}
	if startupFile.MatchString(name) && !quietStartup.MatchString(name) {
		v.startupHook(name)
	} else if v.info.isCode() && v.info.role != roleVendored && hiddenPath(name) {
		v.structure("structure.file.hidden_code", name, 0, name, name)
	}
	if !v.info.isText() {
		v.binaryStructure()
		return
	}
	if v.info.format == controlBytes {
		v.structure("structure.text.control_bytes", name, 1, "", "")
	}
	v.textStructure()
}

// startupHook reports a file that tools run by themselves, which the settings that a
// bundle about dotfiles or services ships are by its purpose.
func (v *visit) startupHook(name string) {
	v.structureAt("structure.file.startup_hook", name, 0, name, name, statedStartUp(v.bundle))
}

func hiddenPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > 1 && part[0] == '.' && part != ".github" && part != ".claude" && part != ".husky" && part != ".devcontainer" && !strings.HasPrefix(part, ".eslintrc") && !strings.HasPrefix(part, ".prettierrc") && !strings.HasPrefix(part, ".babelrc") && part != ".vscode" && part != ".storybook" && part != ".circleci" {
			return true
		}
	}
	return false
}

func misleadingName(name string) bool {
	for _, r := range name {
		if isInvisible(r) || unicode.IsControl(r) {
			return true
		}
	}
	return hasMixedWord(name)
}

var inertExt = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".pdf": true, ".txt": true, ".md": true, ".csv": true, ".json": true, ".mp3": true, ".mp4": true, ".ttf": true, ".woff": true, ".svg": true, ".yaml": true, ".yml": true, ".webp": true}

func (v *visit) binaryStructure() {
	name, ext := v.file.Path, strings.ToLower(path.Ext(v.file.Path))
	switch {
	case v.info.kind == kindMedia:
		return
	case inertExt[ext]:
		v.structure("structure.file.disguised", name, 0, fmt.Sprintf("%s holding %s", path.Base(name), v.info.format), name)
	case strings.Contains(v.info.format, "executable") || strings.Contains(v.info.format, "bytecode") || strings.Contains(v.info.format, "class") || ext == ".pyc" || ext == ".so" || ext == ".dll" || ext == ".dylib":
		v.structure("structure.file.executable_binary", name, 0, v.info.format, name)
	case strings.HasSuffix(v.info.format, "archive"):
		v.structure("structure.file.nested_archive", name, 0, v.info.format, name)
	case v.info.format == "WebAssembly module":
		v.structure("structure.file.opaque", name, 0, v.info.format, name)
	default:
		v.structure("structure.file.opaque", name, 0, v.info.format, name)
	}
}
