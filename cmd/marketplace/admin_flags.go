package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/store"
)

func newAdminFlagsCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the feature flags",
		Args:  cobra.NoArgs,
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, _ []string) error {
			flags, err := s.ListFeatureFlags(ctx)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "FLAG\tSTATE\tWHAT IT TURNS ON")
			for _, f := range flags {
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.Key, onOff(f.Enabled), f.Description)
			}
			return w.Flush()
		}),
	}
	set := &cobra.Command{
		Use:       "set FLAG on|off",
		Short:     "Turn a feature on or off on every replica, within seconds",
		Example:   "  marketplace admin flags set resource_read_surface on",
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{"on", "off"},
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return fmt.Errorf("a flag is on or off, not %q", args[1])
			}
			flag, err := s.SetFeatureFlag(ctx, args[0], args[1] == "on", store.Actor{})
			if err != nil {
				return err
			}
			cmd.Printf("%s is %s.\n", flag.Key, onOff(flag.Enabled))
			return nil
		}),
	}
	return group("flags", "Feature flags", list, set)
}

func onOff(enabled bool) string {
	if enabled {
		return "on"
	}
	return "off"
}
