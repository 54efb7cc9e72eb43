package bundle

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"github.com/course-marketplace/backend/internal/market"
)

// ticketBytes of randomness make a ticket that cannot be guessed.
const ticketBytes = 32

// Ticket lets its holder GET one file once. Only the hash is stored, so the
// database's readers cannot use the tickets in it.
type Ticket struct {
	Token string // 43 characters of base64url, for the URL
	Hash  [sha256.Size]byte
}

// NewTicket makes a ticket.
func NewTicket() Ticket {
	var secret [ticketBytes]byte
	_, _ = rand.Read(secret[:]) // never fails: see crypto/rand
	return Ticket{Token: ticketEncoding.EncodeToString(secret[:]), Hash: sha256.Sum256(secret[:])}
}

// HashTicket returns the hash under which a presented token is looked up. A
// token this service cannot have made is forbidden with code "ticket_invalid",
// without a database read.
func HashTicket(token string) ([sha256.Size]byte, error) {
	var secret [ticketBytes]byte
	if len(token) == ticketEncoding.EncodedLen(ticketBytes) {
		if n, err := ticketEncoding.Decode(secret[:], []byte(token)); err == nil && n == ticketBytes {
			return sha256.Sum256(secret[:]), nil
		}
	}
	return [sha256.Size]byte{}, market.Forbidden("ticket_invalid", "This download URL is not one we issued; ask for a new one.")
}

// Strict, so that a token has exactly one spelling.
var ticketEncoding = base64.RawURLEncoding.Strict()
