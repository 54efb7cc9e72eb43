package scanner

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"time"
)

func dependenciesLayer() Layer {
	return Layer{Name: LayerDependencies, Limit: time.Minute, visit: visitDependencies, after: dependenciesOfBundle, newState: func() any { return &dependencyState{} }}
}

// dependencyState remembers which manifests and lock files the bundle has.
type dependencyState struct {
	npmLock  bool
	unpinned []dependency
}

// dependency is one entry of a manifest.
type dependency struct {
	ecosystem   string // npm, pypi, go
	name        string
	spec        string
	file        string
	line        int
	development bool
}

var dependencyRules = map[string]structureRule{
	"dependencies.supply_chain.typosquat":         {"supply_chain", "Name close to a popular package", "The package's name differs from a popular one by a typing error or a common trick.", "Check the name.", SeverityHigh, 0.75},
	"dependencies.supply_chain.install_script":    {"supply_chain", "Runs a command when it is installed", "An install script runs as soon as somebody installs the bundle's dependencies.", "Make it a step that the user starts.", SeverityMedium, 0.55},
	"dependencies.supply_chain.install_downloads": {"supply_chain", "Install script that fetches or runs code", "The install script downloads, decodes or evaluates code.", "Remove the install script.", SeverityHigh, 0.88},
	"dependencies.supply_chain.direct_url":        {"supply_chain", "Dependency from a URL", "The dependency comes from a URL or repository instead of the registry.", "Use a released version from the registry, or pin a commit.", SeverityMedium, 0.62},
	"dependencies.supply_chain.plain_http":        {"supply_chain", "Dependency without transport security", "The dependency is fetched over plain HTTP and can be replaced on the way.", "Use HTTPS.", SeverityHigh, 0.75},
	"dependencies.supply_chain.foreign_index":     {"supply_chain", "Another package index", "Packages are taken from an index other than the public registry, where a private name can be claimed by others.", "Use the public registry, or explain the index.", SeverityHigh, 0.72},
	"dependencies.supply_chain.setup_code":        {"supply_chain", "Installation runs code", "setup.py does more than describe the package.", "Use a declarative pyproject.toml.", SeverityHigh, 0.7},
	"dependencies.supply_chain.lock_source":       {"supply_chain", "Lock file points elsewhere", "The lock file resolves a package to a host other than the registry.", "Create the lock file anew from the registry.", SeverityHigh, 0.75},
	"dependencies.hygiene.unpinned":               {"dependency_hygiene", "Versions are not pinned", "What will be installed may differ from what was reviewed.", "Pin versions or ship a lock file.", SeverityLow, 0.5},
	"dependencies.hygiene.replaced_module":        {"supply_chain", "Module replaced by another", "go.mod replaces a module by a different source.", "Depend on the module itself.", SeverityMedium, 0.65},
}

func (v *visit) dependency(rule string, d dependency, detail string) {
	s := dependencyRules[rule]
	factor := 1.0
	if v.info.role == roleTest || v.info.role == roleVendored {
		factor = 0.4
	}
	v.findings.add(Finding{
		RuleID: rule, Category: s.category, Severity: s.severity, Confidence: s.confidence * factor, Title: s.title, Message: s.message + detail, Remediation: s.remediation,
		FilePath: v.file.Path, LineStart: d.line, Snippet: strings.TrimSpace(d.name + " " + d.spec),
	}, d.name+d.spec)
}

func visitDependencies(v *visit) {
	if !v.info.isText() {
		return
	}
	read := manifestReader(path.Base(v.file.Path))
	if read == nil {
		return
	}
	text, err := v.file.readText()
	if err != nil {
		v.findings.indeterminate(v.file.Path, "unreadable", "The file could not be read: "+readReason(err))
		return
	}
	if !read(v, text) {
		v.findings.indeterminate(v.file.Path, "manifest", "The manifest could not be parsed.")
	}
}

var requirementsName = regexp.MustCompile(`(?i)^(requirements|constraints|dev-requirements|test-requirements)[\w.-]*\.(txt|in)$`)

// manifestReader returns what reads a file of this name; it reports false for a
// manifest that does not parse.
func manifestReader(name string) func(*visit, string) bool {
	switch name {
	case "package.json":
		return (*visit).packageJSON
	case "package-lock.json", "npm-shrinkwrap.json":
		return (*visit).packageLock
	case "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "Pipfile.lock", "uv.lock":
		return (*visit).textLock
	case "pyproject.toml":
		return (*visit).pyproject
	case "Pipfile":
		return (*visit).pipfile
	case "go.mod":
		return (*visit).goMod
	case "setup.py":
		return (*visit).setupPy
	case ".npmrc", "pip.conf", ".pypirc":
		return (*visit).indexConfig
	}
	if requirementsName.MatchString(name) {
		return (*visit).requirements
	}
	return nil
}

// check looks at one dependency whatever its manifest.
func (v *visit) check(d dependency) {
	d.file = v.file.Path
	if d.line == 0 {
		d.line = 1
	}
	v.observed.add(Observation{Capability: CapPackage, Value: packageName(d.name), FilePath: v.file.Path, LineStart: d.line, Documentary: d.development})
	if near := typosquatOf(d.ecosystem, d.name); near != "" {
		v.dependency("dependencies.supply_chain.typosquat", d, " It resembles \""+near+"\".")
	}
	switch source := strings.ToLower(d.spec); {
	case strings.HasPrefix(source, "http://") || strings.Contains(source, "git+http://") || strings.HasPrefix(source, "git://"):
		v.dependency("dependencies.supply_chain.plain_http", d, "")
	case strings.Contains(source, "://") || gitSpec.MatchString(source):
		v.dependency("dependencies.supply_chain.direct_url", d, "")
	case !pinned(d):
		state := v.state.(*dependencyState)
		state.unpinned = append(state.unpinned, d)
	}
	if host := hostOf(d.spec); host != "" {
		v.observed.add(Observation{Capability: CapNetwork, Value: host, FilePath: v.file.Path, LineStart: d.line, Documentary: true})
	}
}

var gitSpec = regexp.MustCompile(`^(git\+|github:|gitlab:|bitbucket:|git@|[\w-]+/[\w.-]+(#.*)?$)`)

var exactVersion = regexp.MustCompile(`^(==|===|=|v)?\s*\d+(\.\d+)+([-+.\w]*)?$`)

func pinned(d dependency) bool {
	spec := strings.TrimSpace(d.spec)
	return d.ecosystem == "go" || exactVersion.MatchString(spec) || strings.HasPrefix(spec, "==") || strings.HasPrefix(spec, "file:") || strings.HasPrefix(spec, "workspace:") || strings.HasPrefix(spec, "link:")
}

func dependenciesOfBundle(r *run) {
	state := r.state.(*dependencyState)
	worst := map[string]dependency{}
	counts := map[string]int{}
	for _, d := range state.unpinned {
		if d.ecosystem == "npm" && state.npmLock {
			continue
		}
		if seen, ok := worst[d.file]; !ok || d.name < seen.name {
			worst[d.file] = d // one of them stands for all, always the same
		}
		counts[d.file]++
	}
	s := dependencyRules["dependencies.hygiene.unpinned"]
	for file, d := range worst {
		confidence := s.confidence
		if d.spec == "*" || d.spec == "latest" || d.spec == "" {
			confidence = 0.7
		}
		r.findings.add(Finding{
			RuleID: "dependencies.hygiene.unpinned", Category: s.category, Severity: s.severity, Confidence: confidence, Title: s.title,
			Message: s.message, Remediation: s.remediation, FilePath: file, LineStart: d.line, Snippet: strings.TrimSpace(d.name + " " + d.spec),
		}, file)
	}
}

type npmPackage struct {
	Scripts              map[string]string `json:"scripts"`
	Dependencies         map[string]any    `json:"dependencies"`
	DevDependencies      map[string]any    `json:"devDependencies"`
	OptionalDependencies map[string]any    `json:"optionalDependencies"`
	PeerDependencies     map[string]any    `json:"peerDependencies"`
}

var installHooks = []string{"preinstall", "install", "postinstall", "prepare", "prepublish", "preuninstall", "postuninstall"}

func (v *visit) packageJSON(text string) bool {
	var p npmPackage
	if json.Unmarshal([]byte(text), &p) != nil {
		return false
	}
	for _, group := range []struct {
		deps map[string]any
		dev  bool
	}{{p.Dependencies, false}, {p.OptionalDependencies, false}, {p.DevDependencies, true}, {p.PeerDependencies, true}} {
		for name, spec := range group.deps {
			s, _ := spec.(string)
			v.check(dependency{ecosystem: "npm", name: name, spec: s, line: lineContaining(text, `"`+name+`"`), development: group.dev})
		}
	}
	for _, hook := range installHooks {
		if command, ok := p.Scripts[hook]; ok && command != "" {
			v.installHook(hook, command, lineContaining(text, `"`+hook+`"`))
		}
	}
	return true
}

var (
	harmlessHook = regexp.MustCompile(`^(husky( install)?|npm run build|tsc|patch-package|npx husky( install)?|is-ci \|\| husky install|prisma generate|nuxt prepare|electron-builder install-app-deps|lerna bootstrap|npm run \w+|yarn build|pnpm build|svelte-kit sync|node-gyp rebuild|ngcc|simple-git-hooks|lefthook install)$`)
	fetchingHook = regexp.MustCompile(`(?i)(curl|wget|https?://|base64|eval|node\s+-e|python3?\s+-c|powershell|\|\s*(ba)?sh|nc\s|/dev/tcp|env\b|\.ssh|bash\s+-c|child_process|require\()`)
)

func (v *visit) installHook(hook, command string, line int) {
	d := dependency{name: hook + ":", spec: command, line: line}
	switch {
	case fetchingHook.MatchString(command):
		v.dependency("dependencies.supply_chain.install_downloads", d, "")
	case !harmlessHook.MatchString(strings.TrimSpace(command)) && hook != "prepare" && hook != "prepublish":
		v.dependency("dependencies.supply_chain.install_script", d, "")
	}
}

func lineContaining(text, needle string) int {
	if i := strings.Index(text, needle); i >= 0 {
		return lineOf(text, i)
	}
	return 1
}

var npmHosts = regexp.MustCompile(`^(registry\.npmjs\.org|registry\.yarnpkg\.com|registry\.npmmirror\.com|npm\.pkg\.github\.com|codeload\.github\.com|github\.com|files\.pythonhosted\.org|pypi\.org|pypi\.python\.org)$`)

func (v *visit) packageLock(text string) bool {
	v.state.(*dependencyState).npmLock = true
	if !json.Valid([]byte(text)) {
		return false
	}
	return v.lockSources(text)
}

func (v *visit) textLock(text string) bool {
	v.state.(*dependencyState).npmLock = true
	return v.lockSources(text)
}

var resolvedURL = regexp.MustCompile(`(?:"?resolved"?:?\s+"?|tarball: |url = "|"url": ?")((?:git\+)?https?://[^"\s#]+)`)

func (v *visit) lockSources(text string) bool {
	for _, m := range resolvedURL.FindAllStringSubmatchIndex(text, 20_000) {
		url := text[m[2]:m[3]]
		host := hostOf(url)
		if host == "" || npmHosts.MatchString(host) && !strings.HasPrefix(url, "http://") {
			continue
		}
		v.dependency("dependencies.supply_chain.lock_source", dependency{name: host, spec: url, line: lineOf(text, m[2])}, "")
	}
	return true
}

type pyProject struct {
	Project struct {
		Dependencies []string            `toml:"dependencies"`
		Optional     map[string][]string `toml:"optional-dependencies"`
	} `toml:"project"`
	BuildSystem struct {
		Requires []string `toml:"requires"`
	} `toml:"build-system"`
	Tool struct {
		Poetry struct {
			Dependencies map[string]any `toml:"dependencies"`
			Source       []struct {
				URL string `toml:"url"`
			} `toml:"source"`
		} `toml:"poetry"`
		UV struct {
			Index []struct {
				URL string `toml:"url"`
			} `toml:"index"`
		} `toml:"uv"`
	} `toml:"tool"`
}

func (v *visit) pyproject(text string) bool {
	var p pyProject
	if decodeTOML(text, &p) != nil {
		return false
	}
	for _, line := range p.Project.Dependencies {
		v.requirement(line, lineContaining(text, line), false)
	}
	for _, group := range p.Project.Optional {
		for _, line := range group {
			v.requirement(line, lineContaining(text, line), true)
		}
	}
	for _, line := range p.BuildSystem.Requires {
		v.requirement(line, lineContaining(text, line), true)
	}
	v.tomlDependencies(text, p.Tool.Poetry.Dependencies)
	for _, s := range p.Tool.Poetry.Source {
		v.index(s.URL, lineContaining(text, s.URL))
	}
	for _, s := range p.Tool.UV.Index {
		v.index(s.URL, lineContaining(text, s.URL))
	}
	return true
}

func (v *visit) pipfile(text string) bool {
	var p struct {
		Source []struct {
			URL string `toml:"url"`
		} `toml:"source"`
		Packages map[string]any `toml:"packages"`
	}
	if decodeTOML(text, &p) != nil {
		return false
	}
	v.tomlDependencies(text, p.Packages)
	for _, s := range p.Source {
		v.index(s.URL, lineContaining(text, s.URL))
	}
	return true
}

func (v *visit) tomlDependencies(text string, deps map[string]any) {
	for name, spec := range deps {
		if name == "python" {
			continue
		}
		s := ""
		switch spec := spec.(type) {
		case string:
			s = spec
		case map[string]any:
			for _, key := range []string{"git", "url", "version", "path"} {
				if value, ok := spec[key].(string); ok {
					s = value
					break
				}
			}
		}
		v.check(dependency{ecosystem: "pypi", name: name, spec: s, line: lineContaining(text, name)})
	}
}
