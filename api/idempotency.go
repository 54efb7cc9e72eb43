package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// A POST that creates may carry an Idempotency-Key. The first request with a key takes
// it, does the work and leaves its answer; the same request again gets that answer.
// Between the commit of the work and the keeping of the answer the process may die.
// So the key also fixes, before the work begins, the id that the created thing gets
// (creationID): whoever takes the key over finds the thing instead of making another.
//
// Answers can hold API keys and requests hold passwords: the answer and the request's
// fingerprint are sealed at rest.

const (
	idempotencyHeader   = "Idempotency-Key"
	replayedHeader      = "Idempotency-Replayed"
	idempotencyLifetime = 24 * time.Hour
	// leaseMargin is how much longer a key is held than its request may run, so that
	// two never work at once.
	leaseMargin = 15 * time.Second
)

// keptHeaders are the headers of an answer that are kept with it.
var keptHeaders = []string{"Content-Type", "Link", "Location"}

type creationKey struct{}

// creationID is the id that the thing this request creates is to get; zero where the
// request has no Idempotency-Key and the store may choose.
func creationID(ctx context.Context) uuid.UUID {
	id, _ := ctx.Value(creationKey{}).(uuid.UUID)
	return id
}

// idempotent answers a repeated request with its first answer.
func (s *Server) idempotent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := operationOf(r.Context())
		key := r.Header.Get(idempotencyHeader)
		if !op.idempotent || key == "" {
			next.ServeHTTP(w, r)
			return
		}
		k := store.IdempotencyKey{Scope: idempotencyScope(r.Context()), Operation: op.id, Key: key}
		fingerprint, err := requestFingerprint(r, op)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		claim, kept, err := s.claimKey(r.Context(), k, fingerprint, timeoutOf(op)+leaseMargin)
		switch {
		case err != nil:
			s.fail(w, r, err)
		case claim == nil:
			s.replay(w, r, k, kept)
		default:
			s.answerOnce(w, r, next, k, claim)
		}
	})
}

func idempotencyScope(ctx context.Context) string {
	if p := principalOf(ctx); p.Known() {
		return "agent:" + p.AgentID.String()
	}
	return "address:" + addressKey(ctx)
}

// claimKey takes the key for this request. If the request was answered before, the
// claim is nil and the kept answer is returned.
func (s *Server) claimKey(ctx context.Context, k store.IdempotencyKey, fingerprint []byte, lease time.Duration) (*store.IdempotencyClaim, store.KeptAnswer, error) {
	sealed, err := s.sealer.Seal(fingerprint, sealedFor("fingerprint", k))
	if err != nil {
		return nil, store.KeptAnswer{}, err
	}
	claim, kept, err := s.store.ClaimIdempotencyKey(ctx, k, sealed, lease, idempotencyLifetime)
	if err != nil || claim != nil {
		return claim, kept, err
	}
	earlier, err := s.sealer.Open(kept.Fingerprint, sealedFor("fingerprint", k))
	if err != nil {
		return nil, kept, fmt.Errorf("open the fingerprint of an idempotency key: %w", err)
	}
	if !bytes.Equal(earlier, fingerprint) {
		return nil, kept, errKeyReused()
	}
	if kept.Status != 0 {
		return nil, kept, nil
	}
	claim, err = s.store.TakeOverIdempotencyKey(ctx, k, lease)
	if err == nil && claim == nil {
		busy := market.Conflict("idempotency_key_in_progress", "A request with this Idempotency-Key is being answered; ask again in a moment.")
		busy.RetryAfter = time.Second
		err = busy
	}
	return claim, kept, err
}

// answerOnce does the request's work and keeps the answer if it was fulfilled. After a
// refusal the key can be tried again.
func (s *Server) answerOnce(w http.ResponseWriter, r *http.Request, next http.Handler, k store.IdempotencyKey, claim *store.IdempotencyClaim) {
	// The client may go away meanwhile; the key must be settled all the same.
	settle := context.WithoutCancel(r.Context())
	held := &heldAnswer{header: w.Header(), status: http.StatusOK}
	fulfilled := false
	defer func() {
		if !fulfilled {
			if err := s.store.ReleaseIdempotencyKey(settle, claim); err != nil {
				s.log.WarnContext(settle, "idempotency key not released", "error", err)
			}
		}
	}()
	upload := digestUpload(r)
	next.ServeHTTP(held, r.WithContext(context.WithValue(r.Context(), creationKey{}, claim.CreationID)))
	if held.status/100 == 2 {
		held.upload = upload()
		fulfilled = true
		if err := s.keepAnswer(settle, k, claim, held); err != nil {
			// The work is done; the caller gets its answer. A repetition finds the work by its id.
			s.log.WarnContext(settle, "answer not kept", "error", err)
		}
	}
	held.writeTo(w)
}

func (s *Server) keepAnswer(ctx context.Context, k store.IdempotencyKey, claim *store.IdempotencyClaim, held *heldAnswer) error {
	headers := http.Header{}
	for _, name := range keptHeaders {
		if v := held.header.Values(name); len(v) > 0 {
			headers[name] = v
		}
	}
	if held.upload != "" {
		headers.Set(uploadDigest, held.upload)
	}
	encoded, err := json.Marshal(headers)
	if err != nil {
		return err
	}
	sealed, err := s.sealer.Seal(held.body.Bytes(), sealedFor("answer", k))
	if err != nil {
		return err
	}
	return s.store.CompleteIdempotencyKey(ctx, claim, held.status, encoded, sealed)
}

// replay writes the answer that was kept.
func (s *Server) replay(w http.ResponseWriter, r *http.Request, k store.IdempotencyKey, kept store.KeptAnswer) {
	body, err := s.sealer.Open(kept.Body, sealedFor("answer", k))
	if err != nil {
		s.fail(w, r, fmt.Errorf("open the answer of an idempotency key: %w", err))
		return
	}
	headers := http.Header{}
	if err := json.Unmarshal(kept.Headers, &headers); err != nil {
		s.fail(w, r, fmt.Errorf("read the headers of a kept answer: %w", err))
		return
	}
	if kept := headers.Get(uploadDigest); kept != "" && kept != digestUpload(r)() {
		s.fail(w, r, errKeyReused())
		return
	}
	headers.Del(uploadDigest)
	for name, values := range headers {
		w.Header()[name] = values
	}
	w.Header().Set(replayedHeader, "true")
	w.WriteHeader(kept.Status)
	_, _ = w.Write(body)
}

func errKeyReused() error {
	return market.Refused("idempotency_key_reused", "This Idempotency-Key was sent with another request; use a new one.")
}

// uploadDigest stands among the kept headers for what an upload's body was.
const uploadDigest = "Upload-Digest"

// digestUpload has the body of an upload hashed while it is read. The function that it
// returns reads what is left and says what the whole was; it is empty for other requests,
// whose fingerprint covers the body already.
func digestUpload(r *http.Request) func() string {
	if op := operationOf(r.Context()); op == nil || !op.streams {
		return func() string { return "" }
	}
	h := sha256.New()
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, h), r.Body}
	body := r.Body
	return func() string {
		_, _ = io.Copy(io.Discard, io.LimitReader(body, bundle.MaxPackedBytes+1))
		return hex.EncodeToString(h.Sum(nil))
	}
}

// sealedFor binds a sealed value to its purpose and key.
func sealedFor(purpose string, k store.IdempotencyKey) []byte {
	return []byte(strings.Join([]string{"idempotency", purpose, k.Scope, k.Operation, k.Key}, "\x00"))
}

// requestFingerprint tells requests apart: the method, the path, the query and the
// body, which validation has brought into one form. Of an upload, which is not held
// in memory, it takes what its headers say; digestUpload compares the rest.
func requestFingerprint(r *http.Request, op *operation) ([]byte, error) {
	h := sha256.New()
	part(h, r.Method)
	part(h, r.URL.EscapedPath())
	part(h, r.URL.Query().Encode())
	if op.streams {
		part(h, fmt.Sprint(r.ContentLength))
		part(h, r.Header.Get("Content-Type"))
		part(h, r.Header.Get("Content-Digest"))
		return h.Sum(nil), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	part(h, string(body))
	return h.Sum(nil), nil
}

func part(h hash.Hash, s string) { _, _ = fmt.Fprintf(h, "%d:%s", len(s), s) }

// heldAnswer holds an answer back until it is kept.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
	// upload is what digestUpload says of the request.
	upload string
}

func (h *heldAnswer) Header() http.Header         { return h.header }
func (h *heldAnswer) WriteHeader(status int)      { h.status = status }
func (h *heldAnswer) Write(b []byte) (int, error) { return h.body.Write(b) }

func (h *heldAnswer) writeTo(w http.ResponseWriter) {
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes())
}
