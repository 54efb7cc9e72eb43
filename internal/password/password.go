// Package password keeps and checks passwords with argon2id (RFC 9106).
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"

	"github.com/course-marketplace/backend/internal/market"
)

// Params is the cost of one computation.
type Params struct {
	Passes    uint32
	MemoryKiB uint32
	Threads   uint8
}

// Recommended is the low-memory profile that RFC 9106, section 4, recommends.
var Recommended = Params{Passes: 3, MemoryKiB: 64 << 10, Threads: 4}

const (
	saltLength = 16
	tagLength  = 32
	// maxWait bounds how long a request queues for its turn.
	maxWait = 10 * time.Second
	// maxMemoryKiB and maxPasses bound what a stored hash may ask for.
	maxMemoryKiB = 1 << 20
	maxPasses    = 16
)

// Hasher computes at most as many hashes at once as there are cores: each takes
// Params.MemoryKiB of memory, and a flood of sign-ups must not take all there is.
type Hasher struct {
	params Params
	turns  *semaphore.Weighted
	// nobody is a hash no password belongs to, checked where there is no user.
	nobody string
}

// NewHasher returns a Hasher that makes new hashes with the given cost.
func NewHasher(p Params) *Hasher {
	salt, tag := make([]byte, saltLength), make([]byte, tagLength)
	_, _ = rand.Read(tag)
	return &Hasher{
		params: p,
		turns:  semaphore.NewWeighted(int64(runtime.NumCPU())),
		nobody: encode(p, salt, tag),
	}
}

// Hash returns the password's argon2id hash with a new salt, in the PHC string
// format: $argon2id$v=19$m=65536,t=3,p=4$<salt>$<tag>. It waits for its turn and
// fails with market.KindUnavailable when that takes too long.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt)
	tag, err := h.compute(ctx, password, h.params, salt)
	if err != nil {
		return "", err
	}
	return encode(h.params, salt, tag), nil
}

// Verify reports whether hash was made from password. With an empty hash, which
// stands for a user who does not exist, it works as long and answers false.
func (h *Hasher) Verify(ctx context.Context, hash, password string) (bool, error) {
	known := hash != ""
	if !known {
		hash = h.nobody
	}
	p, salt, want, err := decode(hash)
	if err != nil {
		return false, err
	}
	got, err := h.compute(ctx, password, p, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

func (h *Hasher) compute(ctx context.Context, password string, p Params, salt []byte) ([]byte, error) {
	wait, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := h.turns.Acquire(wait, 1); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, market.Unavailable("overloaded", 5*time.Second, "Too many passwords are being checked right now; try again in a moment.")
	}
	defer h.turns.Release(1)
	return argon2.IDKey([]byte(password), salt, p.Passes, p.MemoryKiB, p.Threads, tagLength), nil
}

func encode(p Params, salt, tag []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.MemoryKiB, p.Passes, p.Threads,
		b64.EncodeToString(salt), b64.EncodeToString(tag))
}

// decode reads a stored hash. Its errors do not repeat what it read.
func decode(hash string) (p Params, salt, tag []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, fmt.Errorf("stored password hash: not an argon2id hash of version %d", argon2.Version)
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.MemoryKiB, &p.Passes, &p.Threads); err != nil {
		return p, nil, nil, fmt.Errorf("stored password hash: unreadable parameters")
	}
	if p.MemoryKiB > maxMemoryKiB || p.Passes == 0 || p.Passes > maxPasses || p.Threads == 0 {
		return p, nil, nil, fmt.Errorf("stored password hash: parameters out of range")
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	tag, tagErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || tagErr != nil || len(salt) < 8 || len(tag) != tagLength {
		return p, nil, nil, fmt.Errorf("stored password hash: unreadable salt or tag")
	}
	return p, salt, tag, nil
}
