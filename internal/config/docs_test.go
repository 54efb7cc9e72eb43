package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const docsFile = "../../docs/configuration.md"

const docsIntro = `# Configuration

Every process reads its settings from environment variables and from nothing else. A process that lacks a
setting, or finds one it cannot use, names all such variables at once and does not start.

- **Secrets** (marked 🔒) may be given as a file: ` + "`MARKETPLACE_DATABASE_URL_FILE=/run/secrets/database-url`" + ` instead of
  ` + "`MARKETPLACE_DATABASE_URL`" + `. They are printed as ` + "`***`" + ` wherever they appear.
- **Durations** are written as Go writes them: ` + "`90s`, `15m`, `336h`" + `.
- **Needed by** names the commands that refuse to start without the setting.
- ` + "`marketplace dev`" + ` sets all of them by itself.

This page is written from the declarations in ` + "`internal/config/config.go`" + `; a test keeps the two equal
(` + "`go test ./internal/config -update`" + ` writes it anew).
`

const docsOutro = `
## Tracing

Traces are exported by OTLP over HTTP when ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + ` (or ` + "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`" + `) is set.
The standard variables apply: ` + "`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,\n`OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`" + `. Without an endpoint nothing is recorded or sent.
`

func TestDocumentation(t *testing.T) {
	t.Parallel()
	want := documentation()
	if *update {
		if err := os.WriteFile(docsFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/configuration.md differs from the declarations; run: go test ./internal/config -update\n%s", diff)
	}
}

func documentation() string {
	var b strings.Builder
	b.WriteString(docsIntro)
	section := ""
	for _, s := range Settings() {
		if s.Section != section {
			section = s.Section
			fmt.Fprintf(&b, "\n## %s\n\n| variable | default | needed by | |\n|---|---|---|---|\n", section)
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s |\n", s.Variable, lock(s), code(s.Default), commands(s.Needed), s.Doc)
	}
	b.WriteString(docsOutro)
	return b.String()
}

func lock(s Setting) string {
	if s.Secret {
		return " 🔒"
	}
	return ""
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func commands(needed []Command) string {
	names := make([]string, len(needed))
	for i, c := range needed {
		names[i] = strings.ReplaceAll(string(c), "-", " ")
	}
	return strings.Join(names, ", ")
}
