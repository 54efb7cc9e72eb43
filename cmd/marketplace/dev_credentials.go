package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"
)

// credentials is .dev/credentials.json: where the development stack is reached, and
// the keys of the agents it begins with. Only hashes are in the database.
type credentials struct {
	BaseURL         string                     `json:"base_url"`
	TemporalUIURL   string                     `json:"temporal_ui_url"`
	TemporalAddress string                     `json:"temporal_address"`
	Namespace       string                     `json:"namespace"`
	DatabaseURL     string                     `json:"database_url"`
	CodehostURL     *string                    `json:"codehost_url"`
	S3Endpoint      string                     `json:"s3_endpoint"`
	Agents          map[string]agentCredential `json:"agents"`
}

type agentCredential struct {
	UserID  uuid.UUID `json:"user_id"`
	AgentID uuid.UUID `json:"agent_id"`
	APIKey  string    `json:"api_key"`
}

// readCredentials returns what is in the file, or nothing where there is none.
func readCredentials(path string) (credentials, error) {
	var c credentials
	content, err := os.ReadFile(path) //nolint:gosec // below the directory that the user names
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		return credentials{}, fmt.Errorf("%s can't be read; delete it, and new keys are made: %w", path, err)
	}
	return c, nil
}

func (c credentials) write(path string) error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(content, '\n'))
}
