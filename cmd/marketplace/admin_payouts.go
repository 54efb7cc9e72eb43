package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/seal"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/worker"
)

// payoutStatuses are what a list can be narrowed to.
var payoutStatuses = []market.PayoutStatus{
	market.PayoutPending, market.PayoutHeld, market.PayoutSubmitted,
	market.PayoutSettled, market.PayoutFailed, market.PayoutReversed,
}

// retryPatience is how long «payouts retry» watches what becomes of the payout.
const retryPatience = 30 * time.Second

func newAdminPayoutsCommand() *cobra.Command {
	var status string
	var limit int
	list := &cobra.Command{
		Use:     "list [--status failed]",
		Short:   "List payouts, newest first",
		Example: "  marketplace admin payouts list --status failed",
		Args:    cobra.NoArgs,
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, _ []string) error {
			filter, err := parsePayoutStatus(status)
			if err != nil {
				return err
			}
			payouts, err := s.ListPayouts(ctx, filter, store.Page{Limit: limit})
			if err != nil {
				return err
			}
			return printPayouts(cmd.OutOrStdout(), payouts)
		}),
	}
	list.Flags().StringVar(&status, "status", "", "pending, held, submitted, settled, failed or reversed")
	list.Flags().IntVar(&limit, "limit", 100, "how many to list at most")

	retry := &cobra.Command{
		Use:   "retry PAYOUT_ID",
		Short: "Try a failed payout once more",
		Long: "Asks the payout's workflow to try again, as support does over REST, and waits for the outcome.\n" +
			"It needs Temporal's address and the keyset besides the database.",
		Args: cobra.ExactArgs(1),
		RunE: retryPayout,
	}
	return group("payouts", "Payouts to the contributors of bounties", list, retry)
}

func parsePayoutStatus(text string) (*market.PayoutStatus, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no filter
	}
	status := market.PayoutStatus(text)
	if slices.Contains(payoutStatuses, status) {
		return &status, nil
	}
	names := make([]string, len(payoutStatuses))
	for i, s := range payoutStatuses {
		names[i] = string(s)
	}
	return nil, fmt.Errorf("no payout is ever %q; the statuses are %s", text, strings.Join(names, ", "))
}

func printPayouts(out io.Writer, payouts []store.Payout) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PAYOUT\tSTATUS\tAMOUNT\tRECIPIENT\tATTEMPTS\tCREATED\tREASON")
	for _, p := range payouts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", p.ID, p.Status, cents(p.AmountCents),
			p.RecipientAgentName, p.Attempts, p.CreatedAt.UTC().Format(time.RFC3339), failureOf(p))
	}
	return w.Flush()
}

func failureOf(p store.Payout) string {
	if p.FailureCode == nil {
		return ""
	}
	if p.FailureDetail == nil {
		return *p.FailureCode
	}
	return *p.FailureCode + ": " + *p.FailureDetail
}

func retryPayout(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	id, err := parseID("payout", args[0])
	if err != nil {
		return err
	}
	cfg, err := config.Load(config.RetryPayout)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	temporal, err := dialForAdmin(ctx, cfg)
	if err != nil {
		return err
	}
	defer temporal.Close()
	flows := &api.Flows{Client: temporal, TaskQueue: cfg.Tasks.TaskQueue, Wait: cfg.HTTP.UpdateWait}
	return retryAndWatch(ctx, cmd, s, flows, id)
}

func dialForAdmin(ctx context.Context, cfg *config.Config) (client.Client, error) {
	sealer, err := seal.New(cfg.Seal.Keyset.Reveal())
	if err != nil {
		return nil, keysetError(err)
	}
	logger := newLogger(cfg, string(config.Admin))
	return worker.Dial(ctx, cfg.Temporal, sealer, logger, client.MetricsNopHandler)
}

func retryAndWatch(ctx context.Context, cmd *cobra.Command, s *store.Store, flows *api.Flows, id uuid.UUID) error {
	payout, err := s.GetPayout(ctx, id)
	if err != nil {
		return err
	}
	bounty, err := s.GetBounty(ctx, payout.BountyID)
	if err != nil {
		return err
	}
	if err := flows.RetryPayout(ctx, payout, bounty.CourseID, uuid.Nil); err != nil {
		return err
	}
	payout, err = awaitOutcome(ctx, s, id)
	if err != nil {
		return err
	}
	switch payout.Status {
	case market.PayoutSettled:
		cmd.Printf("Settled: %s went to %s.\n", cents(payout.SellerNetAmountCents), payout.RecipientAgentName)
		return nil
	case market.PayoutFailed:
		return fmt.Errorf("the payout failed again: %s", failureOf(payout))
	}
	cmd.Printf("The payout is %s and goes on by itself.\n", payout.Status)
	return nil
}

// awaitOutcome watches the payout until it is settled or has failed, for a while.
func awaitOutcome(ctx context.Context, s *store.Store, id uuid.UUID) (store.Payout, error) {
	ctx, cancel := context.WithTimeout(ctx, retryPatience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		payout, err := s.GetPayout(ctx, id)
		if err != nil || payout.Status.Final() || payout.Status == market.PayoutFailed {
			return payout, err
		}
		select {
		case <-ctx.Done():
			return payout, nil
		case <-tick.C:
		}
	}
}
