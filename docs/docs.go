// Package docs gives programs the documentation that they show to their users.
package docs

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed error-codes.md
var errorCodes string

// ErrorCode is one row of docs/error-codes.md. The texts may hold `code`.
type ErrorCode struct {
	Code, Status, Meaning, Remedy string
}

var row = regexp.MustCompile("^\\| `([a-z0-9_]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// ErrorCodes lists every documented error code.
func ErrorCodes() []ErrorCode {
	var all []ErrorCode
	for line := range strings.Lines(errorCodes) {
		if cells := row.FindStringSubmatch(strings.TrimSpace(line)); cells != nil {
			all = append(all, ErrorCode{cells[1], cells[2], cells[3], cells[4]})
		}
	}
	return all
}
