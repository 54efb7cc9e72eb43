package scanner

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Bounds of a TOML manifest: its parser recurses into arrays and tables, and a
// goroutine's stack that is full ends the process.
const (
	maxTOMLBytes   = 512 << 10
	maxTOMLOpeners = 20_000
	maxTOMLDots    = 60_000
)

// decodeTOML refuses what could nest too deeply, whether it does or not.
func decodeTOML(text string, into any) error {
	openers := strings.Count(text, "[") + strings.Count(text, "{")
	if len(text) > maxTOMLBytes || openers > maxTOMLOpeners || strings.Count(text, ".") > maxTOMLDots {
		return errTooLarge
	}
	return toml.Unmarshal([]byte(text), into)
}
