package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

func newAdminCommand() *cobra.Command {
	admin := &cobra.Command{
		Use:   "admin",
		Short: "Operate the marketplace from the command line",
		Long: "Works directly on the database that MARKETPLACE_DATABASE_URL names, with the same\n" +
			"transactions as the API. What it changes is in the audit trail without an agent.",
	}
	admin.AddCommand(
		newAdminUserCommand(),
		newAdminRoleCommand(),
		newAdminCreditCommand(),
		newAdminLedgerCommand(),
		newAdminPayoutsCommand(),
		newAdminFlagsCommand(),
		newAdminKeysetCommand(),
	)
	return admin
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short}
	g.AddCommand(commands...)
	return g
}

// withStore runs f on the database.
func withStore(f func(ctx context.Context, cmd *cobra.Command, s *store.Store, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := config.Load(config.Admin)
		if err != nil {
			return err
		}
		s, err := openStore(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer s.Close()
		return f(cmd.Context(), cmd, s, args)
	}
}

// findUser accepts a user's id or e-mail address.
func findUser(ctx context.Context, s *store.Store, idOrEmail string) (uuid.UUID, error) {
	if id, err := uuid.Parse(idOrEmail); err == nil {
		user, err := s.GetUser(ctx, id)
		return user.ID, err
	}
	user, err := s.FindUserByEmail(ctx, idOrEmail)
	return user.ID, err
}

func parseRole(text string) (market.Role, error) {
	role := market.Role(text)
	if slices.Contains(market.Roles, role) {
		return role, nil
	}
	names := make([]string, len(market.Roles))
	for i, r := range market.Roles {
		names[i] = string(r)
	}
	return "", fmt.Errorf("there is no role %q; the roles are %s", text, strings.Join(names, ", "))
}

func parseID(what, text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("%q is not the id of a %s", text, what)
	}
	return id, nil
}

// cents writes an amount as people read it: 1234 as 12.34.
func cents(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}
