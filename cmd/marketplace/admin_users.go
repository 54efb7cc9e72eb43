package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/password"
	"github.com/course-marketplace/backend/store"
)

// The lengths of passwords that the API accepts too.
const minPassword, maxPassword = 8, 255

type userOptions struct {
	email, name, agent string
	roles              []string
	passwordStdin      bool
}

func newAdminUserCommand() *cobra.Command {
	var o userOptions
	create := &cobra.Command{
		Use:   "create --email ADDRESS [--role admin]",
		Short: "Make a user with a first agent, such as the first administrator",
		Example: "  marketplace admin user create --email ops@example.com --role admin\n" +
			"  marketplace admin user create --email ops@example.com --role admin --password-stdin < password.txt",
		Args: cobra.NoArgs,
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, _ []string) error {
			return createUser(ctx, cmd, s, o)
		}),
	}
	flags := create.Flags()
	flags.StringVar(&o.email, "email", "", "the user's e-mail address")
	flags.StringVar(&o.name, "name", "", "the user's name")
	flags.StringVar(&o.agent, "agent", "operator", "the first agent's name")
	flags.StringSliceVar(&o.roles, "role", nil, "a role to grant: admin, reviewer or support; may be given more than once")
	flags.BoolVar(&o.passwordStdin, "password-stdin", false, "read the password from standard input instead of making one up")
	_ = create.MarkFlagRequired("email")
	return group("user", "Users", create)
}

func createUser(ctx context.Context, cmd *cobra.Command, s *store.Store, o userOptions) error {
	if !strings.Contains(o.email, "@") {
		return fmt.Errorf("%q is not an e-mail address", o.email)
	}
	roles, err := parseRoles(o.roles)
	if err != nil {
		return err
	}
	secret := rand.Text()
	if o.passwordStdin {
		if secret, err = readPassword(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	hash, err := password.NewHasher(password.Recommended).Hash(ctx, secret)
	if err != nil {
		return err
	}
	signup := store.Signup{Email: o.email, PasswordHash: hash, Agent: store.AgentProfile{Name: o.agent}, Key: apikey.New()}
	if o.name != "" {
		signup.Name = &o.name
	}
	user, agent, err := s.CreateUser(ctx, signup)
	if err != nil {
		return err
	}
	for _, role := range roles {
		if _, err := s.GrantRole(ctx, user.ID, role); err != nil {
			return fmt.Errorf("the user was made, but not granted %s: %w", role, err)
		}
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "user_id   %s\nagent_id  %s\napi_key   %s\n", user.ID, agent.ID, signup.Key.Text())
	if !o.passwordStdin {
		fmt.Fprintf(out, "password  %s\n", secret)
	}
	cmd.PrintErrln("The key and the password are shown this once.")
	return nil
}

func parseRoles(names []string) ([]market.Role, error) {
	roles := make([]market.Role, len(names))
	for i, name := range names {
		role, err := parseRole(name)
		if err != nil {
			return nil, err
		}
		roles[i] = role
	}
	return roles, nil
}

func readPassword(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if n := utf8.RuneCountInString(line); n < minPassword || n > maxPassword {
		return "", fmt.Errorf("a password has %d to %d characters; this one has %d", minPassword, maxPassword, n)
	}
	return line, nil
}

func newAdminRoleCommand() *cobra.Command {
	grant := &cobra.Command{
		Use:   "grant USER ROLE",
		Short: "Give a user (id or e-mail address) a role",
		Args:  cobra.ExactArgs(2),
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, args []string) error {
			return changeRole(ctx, cmd, s, args, s.GrantRole, "%s now has the role %s.", "%s had the role %s already.")
		}),
	}
	revoke := &cobra.Command{
		Use:   "revoke USER ROLE",
		Short: "Take a role from a user (id or e-mail address)",
		Args:  cobra.ExactArgs(2),
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, args []string) error {
			return changeRole(ctx, cmd, s, args, s.RevokeRole, "%s no longer has the role %s.", "%s did not have the role %s.")
		}),
	}
	return group("role", "What users may do: admin, reviewer, support", grant, revoke)
}

func changeRole(ctx context.Context, cmd *cobra.Command, s *store.Store, args []string,
	change func(context.Context, uuid.UUID, market.Role) (bool, error), changed, unchanged string,
) error {
	role, err := parseRole(args[1])
	if err != nil {
		return err
	}
	user, err := findUser(ctx, s, args[0])
	if err != nil {
		return err
	}
	ok, err := change(ctx, user, role)
	if err != nil {
		return err
	}
	text := unchanged
	if ok {
		text = changed
	}
	cmd.Printf(text+"\n", args[0], role)
	return nil
}
