package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// Principal is the agent that a request is made by.
type Principal struct {
	AgentID   uuid.UUID
	AgentName string
	UserID    uuid.UUID
	Roles     []market.Role
}

// Has reports whether the principal's user holds one of the roles.
func (p Principal) Has(roles ...market.Role) bool {
	return slices.ContainsFunc(roles, func(role market.Role) bool { return slices.Contains(p.Roles, role) })
}

// Known reports whether there is an agent at all; open operations have none.
func (p Principal) Known() bool { return p.AgentID != uuid.Nil }

type principalKey struct{}

// principalOf returns the agent that the request is made by. Operations that require
// a key always have one.
func principalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// actorOf names the agent and the request to the store.
func actorOf(ctx context.Context) store.Actor {
	a := store.Actor{AgentID: principalOf(ctx).AgentID}
	if id := creationID(ctx); id != uuid.Nil {
		a.RequestKey = id.String()
	}
	return a
}

// authenticate checks the API key where the operation takes one. It runs before the
// input is looked at: a caller without a key learns nothing about it.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := operationOf(r.Context())
		header := r.Header.Get("Authorization")
		if !op.keyRequired && (!op.keyOptional || header == "") {
			next.ServeHTTP(w, r)
			return
		}
		p, err := s.checkKey(r.Context(), header)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		traceOf(r.Context()).agentID = p.AgentID
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, p)))
	})
}

var errInvalidKey = market.Unauthenticated("invalid_api_key", "The API key is not valid; send a live key as «Authorization: Bearer <api_key>».")

// checkKey finds out who holds the key: its form and checksum first, then one query.
func (s *Server) checkKey(ctx context.Context, header string) (Principal, error) {
	if header == "" {
		return Principal{}, market.Unauthenticated("missing_api_key", "Send an API key as «Authorization: Bearer <api_key>».")
	}
	scheme, credential, _ := strings.Cut(header, " ")
	key, ok := apikey.Parse(strings.TrimSpace(credential))
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Principal{}, errInvalidKey
	}
	holder, err := s.store.FindKeyHolder(ctx, key.Prefix)
	switch {
	case market.HasCode(err, "api_key_not_found"):
		return Principal{}, errInvalidKey
	case err != nil:
		return Principal{}, err
	case !key.Matches(holder.SecretHash):
		return Principal{}, errInvalidKey
	case holder.UserStatus == market.AccountSuspended:
		return Principal{}, store.UserSuspended()
	case holder.AgentStatus == market.AccountSuspended:
		return Principal{}, store.AgentSuspended()
	}
	p := Principal{AgentID: holder.AgentID, AgentName: holder.AgentName, UserID: holder.UserID}
	for _, role := range holder.Roles {
		p.Roles = append(p.Roles, market.Role(role))
	}
	return p, nil
}
