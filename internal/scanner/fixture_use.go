package scanner

import (
	"path"
	"regexp"
	"strings"
)

var (
	// startRequest precedes the path of a program that is to be started.
	startRequest = regexp.MustCompile(`(?i)(?:\b(?:run|runs|execute|start|launch|source|invoke|call|bash|sh|zsh|python3?|node|deno|bun|ruby|perl|make)\b[^.\n]{0,40}|\./\S{0,80})$`)
	startDenied  = regexp.MustCompile(`(?i)\b(?:not|never|n't|nothing|nobody|without)\b`)
	// startEach follows a pattern of paths in a loop that starts each of them.
	startEach = regexp.MustCompile(`^[^\n]{0,40}\bdo\b[^\n]{0,10}\b(?:bash|sh|zsh|python3?|node|source)\b|^[^\n]{0,40}-exec (?:bash|sh|zsh|python3?|node)\b`)
)

// startedByMain reports a file that the main file asks to start by its path or with
// all others of its folder. Whatever the folder is called, such a file is part of the
// program and no fixture.
func (b *Bundle) startedByMain(name string) bool {
	text := aboutOf(b).text
	within := strings.TrimPrefix(strings.TrimPrefix(name, b.Root()), "/")
	folder := path.Dir(within)
	return folder != "." && (startsPath(text, within) || startsPath(text, folder+"/*"))
}

// maxMentions is how many mentions of one file are looked at.
const maxMentions = 100

func startsPath(text, name string) bool {
	for range maxMentions {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		line := tail(before, 120)
		line = line[strings.LastIndexByte(line, '\n')+1:]
		if (startRequest.MatchString(line) || startEach.MatchString(after[:min(len(after), 100)])) && !startDenied.MatchString(line) {
			return true
		}
		text = after
	}
	return false
}
