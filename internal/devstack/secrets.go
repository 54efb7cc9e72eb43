package devstack

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// secrets are generated at the first start in a directory and kept there.
type secrets struct {
	PostgresAdminPassword string `json:"postgres_admin_password"`
	PostgresPassword      string `json:"postgres_password"`
	S3AccessKey           string `json:"s3_access_key"`
	S3SecretKey           string `json:"s3_secret_key"`
}

func loadSecrets(dir string) (secrets, error) {
	path := filepath.Join(dir, "secrets.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return newSecrets(path)
	}
	var s secrets
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	if err != nil {
		return secrets{}, fmt.Errorf("%s can't be read (begin anew with --reset): %w", path, err)
	}
	return s, nil
}

func newSecrets(path string) (secrets, error) {
	s := secrets{
		PostgresAdminPassword: rand.Text(),
		PostgresPassword:      rand.Text(),
		S3AccessKey:           "DEV" + rand.Text()[:13],
		S3SecretKey:           rand.Text() + rand.Text()[:14],
	}
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return secrets{}, err
	}
	return s, writeWhole(path, content)
}

// writeWhole writes a file that other processes read: they see all of it or none.
func writeWhole(path string, content []byte) error {
	unfinished := path + ".new"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}
