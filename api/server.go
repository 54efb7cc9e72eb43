// Package api answers the marketplace's HTTP interface. The contract is openapi.yaml;
// the routes, types and handler signatures in openapi.gen.go are made from it. A
// handler reads its input, calls one thing and answers; whatever it returns as an error
// becomes an HTTP answer in problem.go.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/course-marketplace/backend/internal/bundle"
	"github.com/course-marketplace/backend/internal/password"
	"github.com/course-marketplace/backend/internal/seal"
	"github.com/course-marketplace/backend/store"
)

// Options are what the API works with. Store, Sealer and Logger are required.
type Options struct {
	Store *store.Store
	// Flows drives the workflows. Operations that need none work without it.
	Flows *Flows
	// Storage holds the files of course versions.
	Storage *bundle.Storage
	// ReviewLinkLifetime is how long the links to a bundle under review work.
	ReviewLinkLifetime time.Duration
	// Sealer seals cursors and kept answers.
	Sealer *seal.Sealer
	Logger *slog.Logger
	// Passwords hashes and checks; the recommended cost where it is nil.
	Passwords *password.Hasher
	// Limits are the rate limits; the zero value limits nothing.
	Limits Limits
	// PublicURL is where callers reach the API, without a slash at the end.
	PublicURL string
	// TrustedProxies may say in X-Forwarded-For whom they speak for.
	TrustedProxies []netip.Prefix
	// CodehostConfigured says whether bounties can take pull requests at all.
	CodehostConfigured bool
	// Metrics answers /metrics, if it is to be answered here.
	Metrics http.Handler
}

// Server answers the operations of the OpenAPI document.
type Server struct {
	// The operations that come later: notYetBuilt answers them before they are reached.
	StrictServerInterface

	store              *store.Store
	flows              *Flows
	storage            *bundle.Storage
	reviewLinkLifetime time.Duration
	sealer             *seal.Sealer
	log                *slog.Logger
	passwords          *password.Hasher
	limits             Limits
	publicURL          string
	trustedProxies     []netip.Prefix
	codehostConfigured bool
	metrics            http.Handler

	operations operations
	validate   func(http.Handler) http.Handler
	features   flagCache
	draining   atomic.Bool
}

// New makes a Server. It fails if the OpenAPI document says what the server does not
// understand.
func New(o Options) (*Server, error) {
	contract, err := Contract()
	if err != nil {
		return nil, err
	}
	ops, err := readOperations(contract.Document())
	if err != nil {
		return nil, err
	}
	if o.Passwords == nil {
		o.Passwords = password.NewHasher(password.Recommended)
	}
	s := &Server{
		store: o.Store, flows: o.Flows, storage: o.Storage, reviewLinkLifetime: o.ReviewLinkLifetime, sealer: o.Sealer, log: o.Logger, passwords: o.Passwords, limits: o.Limits,
		publicURL: strings.TrimSuffix(o.PublicURL, "/"), trustedProxies: o.TrustedProxies,
		codehostConfigured: o.CodehostConfigured, metrics: o.Metrics,
		operations: ops, features: flagCache{store: o.Store, now: time.Now},
	}
	if s.validate, err = ValidateRequests(s.fail); err != nil {
		return nil, err
	}
	return s, nil
}
