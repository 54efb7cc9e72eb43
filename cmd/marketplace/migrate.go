package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/store"
)

func newMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema to this version",
		Long: "Applies the migrations this version brings along, in order, each in a transaction.\n" +
			"Several may run at once: they take turns. Run it before the new version's processes start.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(config.Migrate)
			if err != nil {
				return err
			}
			applied, err := store.Migrate(cmd.Context(), cfg.Database.URL.Reveal())
			if err != nil {
				return err
			}
			if applied == 0 {
				cmd.Println("The schema is up to date.")
				return nil
			}
			cmd.Println(fmt.Sprintf("Applied %d migrations.", applied))
			return nil
		},
	}
}
