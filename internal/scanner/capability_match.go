package scanner

import (
	"path"
	"regexp"
	"strings"
)

// covers reports whether a declared value allows an observed one.
func covers(capability, declared, observed string) bool {
	switch capability {
	case CapNetwork:
		return domainCovers(strings.ToLower(declared), strings.ToLower(observed))
	case CapRead, CapWrite:
		return pathCovers(declared, observed)
	case CapCommand:
		return commandName(declared) == commandName(observed) || declared == "*"
	case CapPackage:
		return packageOfBuild(declared) == packageOfBuild(observed) || declared == "*"
	case CapTool:
		return declared == "*" || toolName(declared) == toolName(observed)
	}
	return declared == observed || globMatch(declared, observed)
}

// domainCovers: a name covers itself, *.name covers what is below name but neither
// name nor a name that merely ends alike, * covers everything.
func domainCovers(declared, observed string) bool {
	if declared == "*" || declared == observed {
		return true
	}
	suffix, wild := strings.CutPrefix(declared, "*.")
	return wild && strings.HasSuffix(observed, "."+suffix)
}

func pathCovers(declared, observed string) bool {
	d, o := cleanPath(declared), cleanPath(observed)
	if d == "**" || d == "*" || d == o {
		return true
	}
	if d == "." {
		return !strings.HasPrefix(o, "/") && !strings.HasPrefix(o, "~") && !strings.HasPrefix(o, "..")
	}
	// What allows everything in a folder allows the folder.
	if strings.TrimSuffix(d, "/**") == o && o != "" {
		return true
	}
	// A folder covers what is in it.
	if !strings.ContainsAny(d, "*?") && strings.HasPrefix(o, d+"/") {
		return true
	}
	return globMatch(d, o)
}

func cleanPath(p string) string {
	for _, home := range []string{"$HOME", "${HOME}", "%USERPROFILE%", "$env:USERPROFILE"} {
		p = strings.ReplaceAll(p, home, "~")
	}
	if p == "" || strings.HasPrefix(p, "~") {
		return strings.TrimSuffix(p, "/")
	}
	return path.Clean(p)
}

// globMatch understands *, ? and ** (any number of folders).
func globMatch(pattern, value string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == value
	}
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.NewReplacer(`/\*\*/`, `/(?:.*/)?`, `\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(quoted)
	re, err := regexp.Compile("^" + quoted + "$")
	return err == nil && re.MatchString(value)
}

// commandName is the program of a command line: base name, no arguments, no version.
func commandName(s string) string {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return ""
	}
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(fields[0], `\`, "/"))), ".exe")
	switch strings.TrimRight(name, "0123456789.") {
	case "python":
		return "python"
	case "pip":
		return "pip"
	}
	return name
}

var versionSuffix = regexp.MustCompile(`(?:\s*(?:==|>=|<=|~=|!=|[<>;\[]|\s@|\^).*)$`)

// packageName is a package without version, extras and the spelling PyPI ignores.
func packageName(s string) string {
	s = versionSuffix.ReplaceAllString(strings.ToLower(strings.TrimSpace(s)), "")
	for _, registry := range []string{"npm:", "pypi:", "pip:", "go:", "gem:", "rubygems:", "cargo:", "crates:", "composer:", "packagist:", "maven:", "nuget:", "brew:", "apt:"} {
		s = strings.TrimPrefix(s, registry)
	}
	if at := strings.LastIndex(s, "@"); at > 0 {
		s = s[:at]
	}
	return strings.NewReplacer("_", "-", ".", "-").Replace(s)
}

// packageOfBuild is the package of which a name means a build for other surroundings.
func packageOfBuild(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(packageName(s), "-binary"), "-headless")
}

func toolName(s string) string {
	name, _, _ := strings.Cut(s, "(")
	return strings.ToLower(strings.TrimSpace(name))
}

// harmlessCommands read, print or arrange; nobody needs to declare them.
var harmlessCommands = wordSet(`echo cd ls cat grep egrep fgrep rg head tail sort uniq wc cut tr sed awk printf test [ true false pwd export set unset
	source . mkdir touch cp mv date sleep basename dirname find xargs tee diff which type command read local return exit shift declare
	trap eval exec wait jobs time env printenv whoami uname hostname seq less more file stat du df tree column jq yq tar unzip zip gzip gunzip
	chmod ln rm rmdir mktemp realpath readlink pushd popd alias man clear history id nl paste comm fold rev bc expr let getopts break continue cmp md5sum sha256sum shasum
	: [[ if then else fi do done for while case esac function in select typeset readonly builtin shopt ulimit umask kill ps top`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// powerfulCommands reach the network, other machines, other users or the system.
var powerfulCommands = wordSet(`curl wget ssh scp sftp rsync nc ncat netcat socat telnet ftp sudo su doas docker podman kubectl helm terraform aws gcloud az gh
	systemctl service launchctl crontab at osascript powershell pwsh reg schtasks dd mkfs mount iptables ufw useradd usermod chown security gpg nmap npm npx pip pipx uvx
	brew apt apt-get yum dnf pacman apk snap gem cargo go git openssl base64 xxd python node ruby perl php bash sh zsh`)
