package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/seal"
)

const keysetVariable = config.Prefix + "SEAL_KEYSET"

// keysetError says where a bad keyset comes from. Seal's errors never show it.
func keysetError(err error) error { return fmt.Errorf("%s: %w", keysetVariable, err) }

func newAdminKeysetCommand() *cobra.Command {
	return group("keyset", "Keys that seal tokens and workflow payloads",
		keysetCommand("new", "Print a fresh keyset, for "+keysetVariable,
			func(string) (string, error) { return seal.NewKeyset() }),
		keysetCommand("add-key", "Print the keyset in "+keysetVariable+" with one more key, which opens but does not seal yet",
			seal.AddKey),
		keysetCommand("promote", "Print the keyset in "+keysetVariable+" with its newest key as the one that seals; do this once every process has the key",
			seal.PromoteNewestKey),
	)
}

func keysetCommand(use, short string, change func(current string) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			current, err := currentKeyset()
			if err != nil {
				return err
			}
			keyset, err := change(current)
			if err != nil {
				return keysetError(err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), keyset)
			return err
		},
	}
}

// currentKeyset reads the variable or the file it may be given as.
func currentKeyset() (string, error) {
	path := os.Getenv(keysetVariable + config.FileSuffix)
	if path == "" {
		return os.Getenv(keysetVariable), nil
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return "", keysetError(err)
	}
	return strings.TrimSpace(string(content)), nil
}
