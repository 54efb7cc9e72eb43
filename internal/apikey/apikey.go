// Package apikey makes and reads the keys that agents authenticate with.
//
// A key reads cmk_<prefix>_<secret>_<checksum>: an 8-character prefix that may be
// shown and searched by, a 40-character secret, and the CRC-32 of what stands before
// it, so that a mistyped key, or a scanner's false find, is told from a real one
// without asking the database. All three are base62. The service keeps the prefix
// and a SHA-256 of the secret; the secret has 238 random bits, so a plain hash is safe.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"hash/crc32"
	"strings"
)

const (
	brand          = "cmk"
	prefixLength   = 8
	secretLength   = 40
	checksumLength = 6
	// Length is the number of characters of every key.
	Length = len(brand) + 1 + prefixLength + 1 + secretLength + 1 + checksumLength

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Key is a key that was just made or that a caller presented.
type Key struct {
	// Prefix is "cmk_" and 8 characters; it is no secret.
	Prefix string
	secret string
}

// New makes a key from the system's random source.
func New() Key {
	return Key{Prefix: brand + "_" + randomBase62(prefixLength), secret: randomBase62(secretLength)}
}

// Parse reads a key and checks its form and checksum. It says nothing about whether
// the key was ever issued.
func Parse(text string) (Key, bool) {
	if len(text) != Length {
		return Key{}, false
	}
	parts := strings.Split(text, "_")
	if len(parts) != 4 || parts[0] != brand || len(parts[1]) != prefixLength || len(parts[2]) != secretLength {
		return Key{}, false
	}
	k := Key{Prefix: brand + "_" + parts[1], secret: parts[2]}
	if subtle.ConstantTimeCompare([]byte(k.Text()), []byte(text)) != 1 {
		return Key{}, false
	}
	return k, true
}

// Text is the whole key as its owner is told it, once.
func (k Key) Text() string {
	body := k.Prefix + "_" + k.secret
	return body + "_" + checksum(body)
}

// Hash is what the service keeps of the secret.
func (k Key) Hash() []byte {
	sum := sha256.Sum256([]byte(k.secret))
	return sum[:]
}

// Matches reports, in constant time, whether hash was made from this key.
func (k Key) Matches(hash []byte) bool {
	return subtle.ConstantTimeCompare(k.Hash(), hash) == 1
}

// String keeps keys out of logs.
func (k Key) String() string { return k.Prefix + "_…" }

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, checksumLength)
	for i := checksumLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}

// randomBase62 draws characters without bias: bytes from 248 on, which would favour
// the first characters, are thrown away.
func randomBase62(n int) string {
	const unbiased = 256 - 256%len(base62)
	out := make([]byte, 0, n)
	buf := make([]byte, 2*n)
	for {
		_, _ = rand.Read(buf) // never fails (crypto/rand documentation)
		for _, b := range buf {
			if int(b) >= unbiased {
				continue
			}
			out = append(out, base62[int(b)%len(base62)])
			if len(out) == n {
				return string(out)
			}
		}
	}
}
