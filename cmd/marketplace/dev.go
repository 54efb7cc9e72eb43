package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/devstack"
)

// devOptions say how to run the development stack.
type devOptions struct {
	dir      string
	portBase int
	reset    bool
	showLogs bool
}

func (o *devOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", ".dev", "where the stack keeps its data, logs and credentials")
	flags.IntVar(&o.portBase, "port-base", devstack.DefaultPortBase, "the first of ten consecutive ports; 0 picks free ones")
	flags.BoolVar(&o.reset, "reset", false, "begin anew: delete the data of earlier starts")
	flags.BoolVar(&o.showLogs, "logs", false, "show the logs of the API and the worker here too")
}

func newDevCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine: Postgres, Temporal, S3, the API and a worker",
		Long: "Starts a complete marketplace on loopback, without containers. Its data stays in the directory\n" +
			"given with --dir, so that the next start goes on where this one stops. Ctrl-C stops all of it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDev(cmd.Context(), cmd.OutOrStdout(), o) },
	}
	o.addFlags(cmd)
	return cmd
}

func runDev(ctx context.Context, out io.Writer, o devOptions) error {
	d, err := startDevelopment(ctx, out, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	d.printSummary(out)
	err = d.stack.Wait(ctx)
	if err == nil {
		fmt.Fprintln(out, "\nStopped. The data stays in", o.dir)
	}
	return err
}

// interrupted says so in one word where a start ended because somebody ended it.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing is left running")
	}
	return err
}

// development is a running development stack.
type development struct {
	stack   *devstack.Stack
	options devOptions
	// program is this binary, which the API, the worker and the codec are run from.
	program     string
	credentials credentials
	took        time.Duration
}

// startDevelopment starts what the marketplace depends on, then the marketplace
// itself, and returns when the API answers. Where it fails, nothing stays running.
func startDevelopment(ctx context.Context, out io.Writer, o devOptions) (*development, error) {
	started := time.Now()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	stack, err := devstack.Start(ctx, devstack.Options{Dir: o.dir, PortBase: o.portBase, Reset: o.reset, Output: out})
	if err != nil {
		return nil, err
	}
	d := &development{stack: stack, options: o, program: self}
	if err := d.start(ctx, out); err != nil {
		stack.Stop()
		return nil, err
	}
	d.took = time.Since(started)
	return d, nil
}

func (d *development) start(ctx context.Context, out io.Writer) error {
	if d.options.reset {
		if err := errors.Join(removeIfThere(d.keysetPath()), removeIfThere(d.credentialsPath())); err != nil {
			return err
		}
	}
	if err := d.ensureKeyset(); err != nil {
		return err
	}
	if err := d.prepareDatabase(ctx, out); err != nil {
		return err
	}
	if err := d.startProcesses(ctx); err != nil {
		return err
	}
	return d.credentials.write(d.credentialsPath())
}

func (d *development) printSummary(out io.Writer) {
	e := d.stack.Endpoints
	fmt.Fprintf(out, `
The marketplace is running (started in %s).

  API             %s
  API reference   %s/docs
  Temporal UI     %s
  Postgres        %s
  S3              %s
  Credentials     %s
  Logs            %s

Try «marketplace demo» in another terminal. Ctrl-C stops everything.
`, d.took.Round(100*time.Millisecond), d.baseURL(), d.baseURL(), e.TemporalUIURL, e.DatabaseURL,
		e.S3.Endpoint, d.credentialsPath(), d.path("logs"))
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
