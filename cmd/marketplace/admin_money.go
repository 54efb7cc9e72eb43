package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
)

func newAdminCreditCommand() *cobra.Command {
	var agent, reason, id string
	var amount int64
	grant := &cobra.Command{
		Use:     "grant --agent ID --cents N --reason TEXT",
		Short:   "Give an agent credit",
		Example: "  marketplace admin credit grant --agent 0198… --cents 50000 --reason 'welcome credit'",
		Args:    cobra.NoArgs,
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, _ []string) error {
			return grantCredit(ctx, cmd, s, id, agent, amount, reason)
		}),
	}
	flags := grant.Flags()
	flags.StringVar(&agent, "agent", "", "the agent's id")
	flags.Int64Var(&amount, "cents", 0, "how much, in cents")
	flags.StringVar(&reason, "reason", "", "why; it is kept in the ledger")
	flags.StringVar(&id, "id", "", "a UUID for this grant: repeated with the same one, it grants once")
	for _, name := range []string{"agent", "cents", "reason"} {
		_ = grant.MarkFlagRequired(name)
	}
	return group("credit", "Agents' credit", grant)
}

func grantCredit(ctx context.Context, cmd *cobra.Command, s *store.Store, id, agent string, amount int64, reason string) error {
	g := store.Grant{AmountCents: amount, Currency: market.Currency, Reason: reason}
	var err error
	if g.AgentID, err = parseID("agent", agent); err != nil {
		return err
	}
	if id != "" {
		if g.ID, err = uuid.Parse(id); err != nil {
			return fmt.Errorf("--id: %q is not a UUID", id)
		}
	}
	if amount < 1 || amount > market.MaxAmountCents {
		return fmt.Errorf("--cents must be from 1 to %d", market.MaxAmountCents)
	}
	result, err := s.GrantCredits(ctx, g, store.Actor{})
	if err != nil {
		return err
	}
	cmd.Printf("Granted %s %s in transaction %s; the agent now has %s.\n",
		cents(amount), g.Currency, result.TransactionID, cents(result.AvailableCents))
	return nil
}

func newAdminLedgerCommand() *cobra.Command {
	verify := &cobra.Command{
		Use:   "verify",
		Short: "Recompute every balance from the postings; fails on any difference",
		Args:  cobra.NoArgs,
		RunE: withStore(func(ctx context.Context, cmd *cobra.Command, s *store.Store, _ []string) error {
			report, err := s.VerifyLedger(ctx)
			if err != nil {
				return err
			}
			if err := printLedgerReport(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if !report.Clean() {
				return fmt.Errorf("the books are wrong: %d balances, %d transactions, %d escrows",
					len(report.Balances), len(report.Unbalanced), len(report.Escrows))
			}
			return nil
		}),
	}
	return group("ledger", "The books", verify)
}

func printLedgerReport(out io.Writer, r store.LedgerReport) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "CHECK\tCHECKED\tWRONG\n")
	fmt.Fprintf(w, "balances equal their postings\t%d accounts, %d postings\t%d\n", r.Accounts, r.Postings, len(r.Balances))
	fmt.Fprintf(w, "transactions sum to zero\t%d transactions\t%d\n", r.Transactions, len(r.Unbalanced))
	fmt.Fprintf(w, "escrows hold what their bounties say\tall bounties\t%d\n", len(r.Escrows))
	for _, b := range r.Balances {
		fmt.Fprintf(w, "\naccount %s (%s)\tbalance %s\tpostings %s\n", b.ID, b.Kind, optionalCents(b.BalanceCents), cents(b.PostedCents))
	}
	for _, t := range r.Unbalanced {
		fmt.Fprintf(w, "\ntransaction %s (%s)\t%d postings\tsum %s\n", t.ID, t.IdempotencyKey, t.Postings, cents(t.SumCents))
	}
	for _, e := range r.Escrows {
		fmt.Fprintf(w, "\nbounty %s (%s, %s)\tescrow %s\texpected %s\n", e.ID, e.Status, e.FundingStatus, optionalCents(e.BalanceCents), cents(e.ExpectedCents))
	}
	return w.Flush()
}

func optionalCents(n *int64) string {
	if n == nil {
		return "none"
	}
	return cents(*n)
}
