package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

const defaultPageSize = 20

// list is a caller's request for a part of a list.
type list struct {
	server *Server
	ctx    context.Context //nolint:containedctx // a list lives for one request
	size   int
	cursor string
	// scope is what the cursors of this list belong to.
	scope []byte
}

// list reads the limit and cursor of a list. Cursors are sealed together with the
// operation, the caller and the given filters: one that was changed, made up, or made
// for another list is refused.
func (s *Server) list(ctx context.Context, limit *Limit, cursor *Cursor, filters ...string) list {
	l := list{server: s, ctx: ctx, size: defaultPageSize}
	if limit != nil {
		l.size = *limit
	}
	if cursor != nil {
		l.cursor = *cursor
	}
	scope := append([]string{"cursor/v1", operationOf(ctx).id, principalOf(ctx).AgentID.String()}, filters...)
	l.scope = []byte(fmt.Sprintf("%q", scope))
	return l
}

// page is what to ask the store for: one row more than the caller wants, which tells
// whether more follow.
func (l list) page() (store.Page, error) {
	p := store.Page{Limit: l.size + 1}
	plain, err := l.open()
	if err != nil || plain == nil {
		return p, err
	}
	at, err := decodePosition(plain)
	p.After = &at
	return p, err
}

// open returns the position that the cursor holds, nil without a cursor.
func (l list) open() ([]byte, error) {
	if l.cursor == "" {
		return nil, nil
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(l.cursor)
	if err != nil {
		return nil, errInvalidCursor()
	}
	plain, err := l.server.sealer.Open(sealed, l.scope)
	if err != nil {
		return nil, errInvalidCursor()
	}
	return plain, nil
}

// cut takes the row too many off and returns the cursor of the next page, nil on the
// last one.
func cut[T any](l list, rows []T, position func(T) store.Position) ([]T, *string) {
	return cutAt(l, rows, func(row T) []byte { return encodePosition(position(row)) })
}

// cutAt is cut for lists with a position of their own kind.
func cutAt[T any](l list, rows []T, position func(T) []byte) ([]T, *string) {
	if len(rows) <= l.size {
		return rows, nil
	}
	rows = rows[:l.size]
	sealed, err := l.server.sealer.Seal(position(rows[l.size-1]), l.scope)
	if err != nil {
		// The system gives no random bytes: nothing can be served.
		panic(err)
	}
	next := base64.RawURLEncoding.EncodeToString(sealed)
	return rows, &next
}

// link is the Link header (RFC 8288) of a list that is answered as a bare array.
func (l list) link(cursor *string) *string {
	if cursor == nil {
		return nil
	}
	at := traceOf(l.ctx).url
	query := at.Query()
	query.Set("cursor", *cursor)
	next := url.URL{Path: at.Path, RawPath: at.RawPath, RawQuery: query.Encode()}
	link := fmt.Sprintf(`<%s%s>; rel="next"`, l.server.publicURL, next.String())
	return &link
}

func errInvalidCursor() error {
	e := market.Invalid(codeInvalidCursor, "is not a cursor of this list with these filters", "query", "cursor")
	e.Code = codeInvalidCursor
	return e
}

func encodePosition(at store.Position) []byte {
	micros := binary.BigEndian.AppendUint64(nil, uint64(at.CreatedAt.UnixMicro()))
	return append(micros, at.ID[:]...)
}

func decodePosition(plain []byte) (store.Position, error) {
	if len(plain) != 8+len(uuid.UUID{}) {
		return store.Position{}, errInvalidCursor()
	}
	micros := int64(binary.BigEndian.Uint64(plain)) //nolint:gosec // written the same way
	return store.Position{CreatedAt: time.UnixMicro(micros).UTC(), ID: uuid.UUID(plain[8:])}, nil
}

// mapSlice turns rows into the records of an answer.
func mapSlice[T, U any](rows []T, f func(T) U) []U {
	out := make([]U, len(rows))
	for i, row := range rows {
		out[i] = f(row)
	}
	return out
}
