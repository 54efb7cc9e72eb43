// Package migrations holds the database schema as goose migrations.
package migrations

import "embed"

// FS is every migration, in order of its number.
//
//go:embed *.sql
var FS embed.FS
