// Package seal encrypts what must not lie about in clear: tokens in the database
// and every payload that goes into a workflow history. The keys are a Tink keyset,
// so that they can be rotated without touching what older keys have sealed.
package seal

import (
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ErrOpen is the answer to a ciphertext that none of the keyset's keys has sealed,
// that was changed, or that belongs to other associated data.
var ErrOpen = errors.New("sealed value cannot be opened")

// Sealer seals and opens values. It is safe for concurrent use.
type Sealer struct {
	aead tink.AEAD
}

// New makes a Sealer from a keyset in the form NewKeyset gives it.
func New(keysetText string) (*Sealer, error) {
	handle, err := parseKeyset(keysetText)
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("keyset does not hold encryption keys: %w", err)
	}
	return &Sealer{aead: primitive}, nil
}

// Seal encrypts plaintext with the keyset's primary key. The associated data is
// not part of the result: it names what the value belongs to (a row's id, say), and
// Open must be given the same, so that a sealed value cannot be moved elsewhere.
func (s *Sealer) Seal(plaintext, associated []byte) ([]byte, error) {
	sealed, err := s.aead.Encrypt(plaintext, associated)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return sealed, nil
}

// Open decrypts what Seal made with any key of the keyset. It fails with ErrOpen.
func (s *Sealer) Open(sealed, associated []byte) ([]byte, error) {
	plaintext, err := s.aead.Decrypt(sealed, associated)
	if err != nil {
		// Tink says no more than "decryption failed", on purpose.
		return nil, ErrOpen
	}
	return plaintext, nil
}
