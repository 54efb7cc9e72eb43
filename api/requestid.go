package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/telemetry"
)

const (
	requestIDHeader    = "X-Request-Id"
	maxRequestIDLength = 128
)

// trace follows one request: it is made first of all and filled in on the way.
type trace struct {
	requestID string
	url       *url.URL
	address   netip.Addr
	operation string
	agentID   uuid.UUID
	// failure is what went wrong, for the log; it may say more than the answer does.
	failure error
}

type traceKey struct{}

// withTrace gives every request an id, the caller's own if it sent a sane one, and
// echoes it.
func (s *Server) withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !isSaneRequestID(id) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		w.Header().Set(requestIDHeader, id)
		t := &trace{requestID: id, url: r.URL, address: clientAddress(r, s.trustedProxies)}
		ctx := telemetry.WithLogAttrs(r.Context(), slog.String("request_id", id))
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, traceKey{}, t)))
	})
}

// isSaneRequestID accepts printable ASCII without spaces: the id goes into log lines.
func isSaneRequestID(id string) bool {
	if id == "" || len(id) > maxRequestIDLength {
		return false
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

func traceOf(ctx context.Context) *trace {
	if t, ok := ctx.Value(traceKey{}).(*trace); ok {
		return t
	}
	return &trace{}
}

// RequestID is the id of the request that ctx belongs to, empty outside of one.
func RequestID(ctx context.Context) string { return traceOf(ctx).requestID }
