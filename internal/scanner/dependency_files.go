package scanner

import (
	"regexp"
	"strings"
)

var (
	requirementLine = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)$`)
	indexOption     = regexp.MustCompile(`^(?:-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)[ =]\s*(\S+)`)
)

func (v *visit) requirements(text string) bool {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSpace(line)
		if i := strings.Index(line, " #"); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if m := indexOption.FindStringSubmatch(line); m != nil {
			v.index(m[1], n)
			continue
		}
		v.requirement(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "--editable"), "-e ")), n, false)
	}
	return true
}

// requirement reads one PEP 508 line, or a bare URL.
func (v *visit) requirement(line string, n int, development bool) {
	line, _, _ = strings.Cut(line, ";")
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, ".") || line == "" {
		return
	}
	if strings.Contains(line, "://") && !strings.Contains(line, "@ ") {
		name := line[strings.LastIndex(line, "/")+1:]
		if _, egg, ok := strings.Cut(line, "#egg="); ok {
			name = egg
		}
		v.check(dependency{ecosystem: "pypi", name: strings.TrimSuffix(name, ".git"), spec: line, line: n, development: development})
		return
	}
	m := requirementLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	v.check(dependency{ecosystem: "pypi", name: m[1], spec: strings.TrimSpace(strings.TrimPrefix(m[2], "@")), line: n, development: development})
}

var publicIndex = regexp.MustCompile(`(?i)^https://(pypi\.org|pypi\.python\.org|files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|download\.pytorch\.org|test\.pypi\.org|pypi\.nvidia\.com|npm\.pkg\.github\.com)(/|$)`)

// index judges a package index other than the public ones.
func (v *visit) index(url string, line int) {
	if url == "" || publicIndex.MatchString(url) {
		return
	}
	v.dependency("dependencies.supply_chain.foreign_index", dependency{name: "index", spec: url, line: line}, "")
	if host := hostOf(url); host != "" {
		v.observed.add(Observation{Capability: CapNetwork, Value: host, FilePath: v.file.Path, LineStart: line})
	}
}

var registrySetting = regexp.MustCompile(`(?m)^\s*(?:@[\w-]+:)?(?:registry|index-url|extra-index-url|repository)\s*=\s*(\S+)`)

func (v *visit) indexConfig(text string) bool {
	for _, m := range registrySetting.FindAllStringSubmatchIndex(text, 50) {
		v.index(text[m[2]:m[3]], lineOf(text, m[0]))
	}
	return true
}

var (
	goRequire = regexp.MustCompile(`^\s*(?:require\s+)?([a-z0-9.-]+\.[a-z]{2,}/\S+)\s+(v\S+)`)
	goReplace = regexp.MustCompile(`^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)`)
)

func (v *visit) goMod(text string) bool {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if m := goReplace.FindStringSubmatch(line); m != nil {
			if !strings.HasPrefix(m[2], ".") && m[1] != m[2] {
				v.dependency("dependencies.hygiene.replaced_module", dependency{name: m[1], spec: "=> " + m[2], line: n}, "")
			}
			continue
		}
		if m := goRequire.FindStringSubmatch(line); m != nil && !strings.Contains(line, "// indirect") {
			v.check(dependency{ecosystem: "go", name: m[1], spec: m[2], line: n})
		}
	}
	return true
}

var (
	setupHook = regexp.MustCompile(`cmdclass\s*=|class\s+\w+\((?:install|develop|build_py|egg_info|sdist|bdist_egg)\)`)
	setupCode = regexp.MustCompile(`\b(?:os\.system|subprocess\.|urlopen|requests\.|exec\(|eval\(|base64|socket\.|__import__|urlretrieve)`)
	setupList = regexp.MustCompile(`(?s)install_requires\s*=\s*\[(.*?)\]`)
	quoted    = regexp.MustCompile(`["']([^"']+)["']`)
)

func (v *visit) setupPy(text string) bool {
	if loc := setupCode.FindStringIndex(text); loc != nil {
		d := dependency{name: "setup.py", spec: text[loc[0]:loc[1]], line: lineOf(text, loc[0])}
		if setupHook.MatchString(text) {
			v.dependency("dependencies.supply_chain.install_downloads", d, "")
		} else {
			v.dependency("dependencies.supply_chain.setup_code", d, "")
		}
	}
	if m := setupList.FindStringSubmatchIndex(text); m != nil {
		for _, q := range quoted.FindAllStringSubmatch(text[m[2]:m[3]], 200) {
			v.requirement(q[1], lineOf(text, m[2]), false)
		}
	}
	return true
}
