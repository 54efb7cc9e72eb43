package api

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/course-marketplace/backend/docs"
)

// errorPage is what the type of every problem leads to: docs/error-codes.md as a page
// with an anchor for each code.
var errorPage = template.Must(template.New("errors").Funcs(template.FuncMap{"plain": withoutBackticks}).Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Error codes</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
dt { margin-top: 1.2rem } dt:target { background: #fe8 } dd { margin: 0 0 0 1.5rem }
</style>
<h1>Error codes</h1>
<p>Programs decide by <code>code</code>. The API itself is described in <a href="/docs">its documentation</a>.</p>
<dl>
{{range .}}<dt id="{{.Code}}"><a href="#{{.Code}}"><code>{{.Code}}</code></a> ({{.Status}})</dt>
<dd>{{plain .Meaning}} {{plain .Remedy}}</dd>
{{end}}</dl>
</html>
`))

func withoutBackticks(s string) string { return strings.ReplaceAll(s, "`", "") }

// answerErrorPage answers GET /docs/errors.
func (s *Server) answerErrorPage(w http.ResponseWriter, r *http.Request) {
	var page bytes.Buffer
	if err := errorPage.Execute(&page, docs.ErrorCodes()); err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = page.WriteTo(w)
}
