package api

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

// Limits is how often callers may do what costs the service much, or what could be
// used to guess. A zero limit does not limit.
type Limits struct {
	// Signups per client address.
	Signups store.Limit
	// PasswordChecks, right or wrong, per user and per client address: adding an agent
	// and rotating a key tell whether a password is right.
	PasswordChecks store.Limit
	// DeviceBegins per agent.
	DeviceBegins store.Limit
	// Referrals bound the sign-ups by one referral code and from one address.
	Referrals store.ReferralLimits
}

// DefaultLimits are the limits of a deployment that sets none.
func DefaultLimits() Limits {
	return Limits{
		Signups:        store.Limit{Max: 20, Period: time.Hour},
		PasswordChecks: store.Limit{Max: 10, Period: 15 * time.Minute},
		DeviceBegins:   store.Limit{Max: 5, Period: time.Hour},
		Referrals: store.ReferralLimits{
			PerCode:    store.Limit{Max: 50, Period: 24 * time.Hour},
			PerAddress: store.Limit{Max: 5, Period: 24 * time.Hour},
		},
	}
}

// limitError is a refusal that also tells how the window stands.
type limitError struct {
	refusal *market.Error
	window  store.Window
}

func (e *limitError) Error() string { return e.refusal.Error() }

// Unwrap lets errors.As find the refusal itself.
func (e *limitError) Unwrap() error { return e.refusal }

func (e *limitError) setHeaders(h http.Header) {
	h.Set("RateLimit-Limit", strconv.Itoa(e.window.Limit.Max))
	h.Set("RateLimit-Remaining", strconv.Itoa(e.window.Remaining()))
	h.Set("RateLimit-Reset", seconds(e.window.ResetsIn))
}

// limit counts one hit on the bucket and refuses it if it is one too many.
func (s *Server) limit(ctx context.Context, bucket string, l store.Limit) error {
	window, err := s.store.HitLimit(ctx, bucket, l)
	if err != nil || !window.Exceeded() {
		return err
	}
	wait := max(window.ResetsIn, time.Second)
	return &limitError{
		refusal: market.RateLimited("rate_limited", wait, "Too many requests; try again in %s seconds.", seconds(wait)),
		window:  window,
	}
}

// limitPasswordCheck counts a password check on the user and on the client's address.
// userID is as the caller gave it, so that a user who does not exist is limited alike.
func (s *Server) limitPasswordCheck(ctx context.Context, userID UserID) error {
	if err := s.limit(ctx, "password-address:"+addressKey(ctx), s.limits.PasswordChecks); err != nil {
		return err
	}
	return s.limit(ctx, "password-user:"+userID.String(), s.limits.PasswordChecks)
}

// addressKey is what limits count a client by: its IPv4 address, or its IPv6 /64,
// which is the least that one customer gets.
func addressKey(ctx context.Context) string {
	address := traceOf(ctx).address
	if !address.IsValid() {
		return "unknown"
	}
	if address.Is4() {
		return address.String()
	}
	prefix, err := address.Prefix(64)
	if err != nil {
		return address.String()
	}
	return prefix.String()
}

// clientAddress is where the request comes from. X-Forwarded-For is believed only as
// far as trusted proxies wrote it: its last entry that is none of theirs counts.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := peer.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(address, trusted); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap().WithZone("")
	}
	return address
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	for _, prefix := range trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
