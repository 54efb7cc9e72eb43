package api

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"time"

	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"
)

// docsPolicy lets the documentation load from this server only. Swagger UI sets
// style attributes, hence the exception for styles.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed docs
var docsFiles embed.FS

// OpenAPIHandler answers the OpenAPI document as JSON, with an ETag.
func OpenAPIHandler() http.Handler {
	c, err := Contract()
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the OpenAPI document cannot be read", http.StatusInternalServerError)
		})
	}
	sum := sha256.Sum256(c.JSON())
	etag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", etag)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(c.JSON()))
	})
}

// DocsHandler serves /docs and everything below it: Swagger UI from embedded
// files, which reads /openapi.json and nothing from elsewhere.
func DocsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs", docsFile("index.html"))
	mux.HandleFunc("GET /docs/{$}", docsFile("index.html"))
	mux.HandleFunc("GET /docs/start.js", docsFile("start.js"))
	mux.Handle("GET /docs/", http.StripPrefix("/docs/", statigz.FileServer(static.FS)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	})
}

func docsFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := fs.ReadFile(docsFiles, "docs/"+name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}
