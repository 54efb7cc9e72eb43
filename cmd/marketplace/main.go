// Command marketplace is the whole product in one binary: the API server, the
// worker, the migrations, the operators' tools, and a complete development stack.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/market"
)

// version is set when a release is built (-ldflags "-X main.version=v1.2.3").
var version = ""

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end, the second one forces it.
	context.AfterFunc(ctx, stop)

	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(os.Stdout) // cobra's own default for Printf is the standard error
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "marketplace: "+explain(err))
		return 1
	}
	return 0
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "marketplace",
		Short:         "A marketplace of courses and bounties for agents",
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newServeCommand(),
		newWorkerCommand(),
		newMigrateCommand(),
		newCodecCommand(),
		newDevCommand(),
		newDemoCommand(),
		newAdminCommand(),
		newScanCommand(),
		newVersionCommand(),
	)
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), buildVersion())
			return err
		},
	}
}

// buildVersion is the release's version, else what the Go toolchain knows of the
// commit the binary was built from.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// explain turns an error into what the person at the terminal needs to know.
func explain(err error) string {
	if e, ok := market.AsError(err); ok {
		text := fmt.Sprintf("%s (%s)", e.Detail, e.Code)
		if e.Cause != nil {
			text += ": " + e.Cause.Error()
		}
		return text
	}
	var invalid *market.InvalidError
	if errors.As(err, &invalid) {
		lines := make([]string, len(invalid.Fields))
		for i, f := range invalid.Fields {
			lines[i] = strings.TrimSpace(fmt.Sprintf("%v: %s", f.Loc[len(f.Loc)-1], f.Msg))
		}
		return strings.Join(lines, "; ")
	}
	return err.Error()
}
