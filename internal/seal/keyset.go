package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// NewKeyset makes a keyset with one fresh AES-256-GCM key: Tink's JSON form in
// base64, one line, fit for an environment variable. It is a secret.
func NewKeyset() (string, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return "", fmt.Errorf("make keyset: %w", err)
	}
	return formatKeyset(handle)
}

// AddKey returns the keyset with one more key that opens but does not seal yet.
// It is the first half of a rotation: every process must know a key before any
// process seals with it.
func AddKey(keysetText string) (string, error) {
	handle, err := parseKeyset(keysetText)
	if err != nil {
		return "", err
	}
	manager := keyset.NewManagerFromHandle(handle)
	if _, err := manager.Add(aead.AES256GCMKeyTemplate()); err != nil {
		return "", fmt.Errorf("add key: %w", err)
	}
	return formatManaged(manager)
}

// PromoteNewestKey returns the keyset with its last key as the one that seals. It
// is the second half of a rotation; the older keys stay, to open what they sealed.
func PromoteNewestKey(keysetText string) (string, error) {
	handle, err := parseKeyset(keysetText)
	if err != nil {
		return "", err
	}
	newest, err := handle.Entry(handle.Len() - 1)
	if err != nil {
		return "", fmt.Errorf("read newest key: %w", err)
	}
	manager := keyset.NewManagerFromHandle(handle)
	if err := manager.SetPrimary(newest.KeyID()); err != nil {
		return "", fmt.Errorf("promote key: %w", err)
	}
	return formatManaged(manager)
}

// parseKeyset never puts any part of the text into its errors: they are logged.
func parseKeyset(text string) (*keyset.Handle, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("keyset is empty")
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("keyset is not base64")
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, errors.New("keyset is not a Tink keyset in JSON")
	}
	return handle, nil
}

func formatManaged(manager *keyset.Manager) (string, error) {
	handle, err := manager.Handle()
	if err != nil {
		return "", fmt.Errorf("change keyset: %w", err)
	}
	return formatKeyset(handle)
}

// formatKeyset writes the keys in clear: the text is meant for a secret store,
// which encrypts it by its own means.
func formatKeyset(handle *keyset.Handle) (string, error) {
	var buf bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&buf)); err != nil {
		return "", fmt.Errorf("write keyset: %w", err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}
