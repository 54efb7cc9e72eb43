package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/api/client"
)

// demoPatience bounds what the demo waits for.
const demoPatience = 30 * time.Second

func newDemoCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Walk through the marketplace's journeys against the development stack",
		Long: "Plays a bounty from its funding to the settled payout, a course from its upload to the catalog, and\n" +
			"one that is rejected, repaired and published, as agents and a reviewer would over REST. It prints\n" +
			"each step with the page to look at. It uses the stack that runs in --dir, or starts one for\n" +
			"the time it takes.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), cmd.OutOrStdout(), o) },
	}
	o.addFlags(cmd)
	return cmd
}

func runDemo(ctx context.Context, out io.Writer, o devOptions) error {
	found, err := runningStack(ctx, o.dir)
	if err != nil {
		return err
	}
	if found != nil {
		return newDemo(out, *found).run(ctx)
	}
	fmt.Fprintf(out, "No stack runs in %s; starting one for the demo.\n", o.dir)
	d, err := startDevelopment(ctx, out, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer d.stack.Stop()
	err = newDemo(out, d.credentials).run(ctx)
	fmt.Fprintln(out, "\nStopping the stack. «marketplace dev» keeps it running, with all that you have seen.")
	return err
}

// runningStack returns the credentials in dir if the API they name answers.
func runningStack(ctx context.Context, dir string) (*credentials, error) {
	c, err := readCredentials(filepath.Join(dir, "credentials.json"))
	if err != nil || c.BaseURL == "" {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL+"/readyz", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil //nolint:nilnil // nothing listens: nothing runs
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the stack in %s is not ready (%s/readyz answers %s)", dir, c.BaseURL, answer.Status)
	}
	return &c, nil
}

// demo plays journeys and tells about them.
type demo struct {
	out   io.Writer
	creds credentials
	steps int
}

func newDemo(out io.Writer, c credentials) *demo { return &demo{out: out, creds: c} }

func (d *demo) run(ctx context.Context) error {
	fmt.Fprintf(d.out, "\nPages of the API want an agent's key: curl -H \"Authorization: Bearer $KEY\" URL, with a key of credentials.json.\n")
	for _, journey := range []func(context.Context) error{d.bountyJourney, d.cleanCourseJourney, d.repairedCourseJourney} {
		if err := journey(ctx); err != nil {
			return err
		}
	}
	return nil
}

// as returns the API as one of the seeded agents sees it.
func (d *demo) as(agent string) (*client.ClientWithResponses, error) {
	credential, ok := d.creds.Agents[agent]
	if !ok {
		return nil, fmt.Errorf("the credentials name no agent %q", agent)
	}
	return apiAs(d.creds.BaseURL, credential.APIKey)
}

func apiAs(baseURL, key string) (*client.ClientWithResponses, error) {
	return client.NewClientWithResponses(baseURL, client.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
}

func (d *demo) title(text string) { fmt.Fprintf(d.out, "\n%s\n", text) }

// step tells what was done, and where to look at it.
func (d *demo) step(look, format string, args ...any) {
	d.steps++
	fmt.Fprintf(d.out, "%3d. %s\n", d.steps, fmt.Sprintf(format, args...))
	if look != "" {
		fmt.Fprintf(d.out, "     %s\n", look)
	}
}

// note adds a line to the step before.
func (d *demo) note(format string, args ...any) {
	fmt.Fprintf(d.out, "     %s\n", fmt.Sprintf(format, args...))
}

func (d *demo) api(path string) string { return d.creds.BaseURL + path }

// workflow is the page of a workflow in the Temporal UI.
func (d *demo) workflow(id string) string {
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", d.creds.TemporalUIURL, d.creds.Namespace, url.PathEscape(id))
}

// result is what the generated client's answers have in common.
type result interface {
	StatusCode() int
	GetBody() []byte
}

// answer takes the value out of a call's result, or the problem that came instead.
func answer[R result, T any](value func(R) *T) func(R, error) (*T, error) {
	return func(r R, err error) (*T, error) {
		if err != nil {
			return nil, err
		}
		if v := value(r); v != nil {
			return v, nil
		}
		return nil, refusal(r)
	}
}

func refusal(r result) error {
	var problem struct{ Code, Detail string }
	if json.Unmarshal(r.GetBody(), &problem) == nil && problem.Code != "" {
		return fmt.Errorf("the API answered %d %s: %s", r.StatusCode(), problem.Code, problem.Detail)
	}
	return fmt.Errorf("the API answered %d: %s", r.StatusCode(), r.GetBody())
}

// await asks until done says so, for a while.
func await[T any](ctx context.Context, ask func(context.Context) (T, error), done func(T) bool) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, demoPatience, errors.New("it took too long"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		value, err := ask(ctx)
		if err != nil || done(value) {
			return value, err
		}
		select {
		case <-ctx.Done():
			return value, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
