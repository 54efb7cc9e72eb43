// Package telemetry sets up what lets operators see a running process: logs,
// traces and metrics.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// LogOptions say how to log.
type LogOptions struct {
	// Format is "json" or "text".
	Format string
	Level  slog.Leveler
	// Process names the part that logs: "serve", "worker".
	Process string
}

// NewLogger writes to w. Every record bears the attributes of its context (see
// WithLogAttrs) and the ids of its trace, and nothing in it that looks like a
// credential survives.
func NewLogger(w io.Writer, o LogOptions) *slog.Logger {
	handlerOptions := &slog.HandlerOptions{Level: o.Level, ReplaceAttr: redactAttr}
	var handler slog.Handler = slog.NewJSONHandler(w, handlerOptions)
	if o.Format == "text" {
		handler = slog.NewTextHandler(w, handlerOptions)
	}
	return slog.New(contextHandler{handler}).With("process", o.Process)
}

type logAttrsKey struct{}

// WithLogAttrs returns a context whose log records all bear the attributes: a
// request's id, a workflow's id, the agent that asks.
func WithLogAttrs(ctx context.Context, attrs ...slog.Attr) context.Context {
	outer, _ := ctx.Value(logAttrsKey{}).([]slog.Attr)
	return context.WithValue(ctx, logAttrsKey{}, append(slices.Clip(outer), attrs...))
}

// contextHandler adds what the context knows to every record.
type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if attrs, ok := ctx.Value(logAttrsKey{}).([]slog.Attr); ok {
		r.AddAttrs(attrs...)
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}

var (
	// credentials are what may stand inside a text: API keys, of which the prefix
	// stays so that the key can be found, the values of Authorization headers, and
	// the passwords in connection URLs.
	credentials = regexp.MustCompile(`(cmk_[0-9A-Za-z]{8}_)[0-9A-Za-z_]+|((?i:bearer|basic)\s+)[0-9A-Za-z._~+/=-]{8,}|(://[^:/@\s]+:)[^@/\s]+@`)

	// secretNames are attributes whose value is a credential as a whole.
	secretNames = []string{"authorization", "password", "user_password", "api_key", "token", "access_token", "secret", "cookie"}
)

// Redact replaces every credential in the text with "***".
func Redact(text string) string {
	if !strings.Contains(text, "cmk_") && !strings.Contains(text, "://") && !strings.ContainsAny(text, " ") {
		return text
	}
	return credentials.ReplaceAllStringFunc(text, func(found string) string {
		parts := credentials.FindStringSubmatch(found)
		end := ""
		if parts[3] != "" {
			end = "@"
		}
		return parts[1] + parts[2] + parts[3] + "***" + end
	})
}

func redactAttr(_ []string, a slog.Attr) slog.Attr {
	if slices.Contains(secretNames, strings.ToLower(a.Key)) {
		return slog.String(a.Key, "***")
	}
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(Redact(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok && err != nil {
			a.Value = slog.StringValue(Redact(err.Error()))
		}
	}
	return a
}
