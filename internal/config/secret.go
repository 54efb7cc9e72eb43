package config

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted stands for a secret wherever one is printed.
const redacted = "***"

// Secret is a setting that must not be seen: every way of printing, logging or
// encoding it gives "***". Reveal gives the value to the one place that needs it.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s != "" }

// String redacts the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format redacts the value under every verb, %q, %x and %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText redacts the value in JSON and everything else that marshals text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue redacts the value in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
