package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

const (
	// campaignBounties is how many bounties are being funded, and as many settled,
	// when the fault strikes: enough that it strikes in the middle.
	campaignBounties = 20
	// rewards are unlike each other, so that money that moves twice, or to the wrong
	// place, shows in the balances.
	baseReward = 10_000
	// recovery includes the server's timeouts of tasks that a killed worker had.
	recovery = 2 * time.Minute
)

// TestFaults kills each part outright while bounties are being funded and settled, and
// brings it back. Every bounty must end where it would have, with its money moved once.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"worker", "serve", devstack.PartTemporal, devstack.PartPostgres} {
		// One after the other: how long recovery takes would otherwise depend on how many
		// stacks the machine can carry at once.
		t.Run(part, func(t *testing.T) {
			c := newCampaign(t)
			settling, funding := c.bounties[:campaignBounties], c.bounties[campaignBounties:]
			c.drive(t, settling, awarded)

			var work sync.WaitGroup
			work.Go(func() { c.drive(t, settling, paid) })
			c.awaitMovement(t, "payout", 0)
			work.Go(func() { c.drive(t, funding, paid) })
			c.awaitMovement(t, "escrow_funded", campaignBounties)
			c.reportTheMiddle(t)
			if err := c.stack.Kill(part); err != nil {
				t.Fatal(err)
			}
			if err := c.stack.Restart(t.Context(), part); err != nil {
				t.Fatal(err)
			}
			work.Wait()
			c.checkMoneyMovedOnce(t)
		})
	}
}

// campaign is a stack of its own, two agents and what they do.
type campaign struct {
	stack                *devstack.Stack
	pool                 *pgxpool.Pool
	creds                credentials
	creator, contributor *client.ClientWithResponses
	bounties             []*trackedBounty
}

// trackedBounty is a bounty and what the test knows of it.
type trackedBounty struct {
	id     uuid.UUID
	reward int64
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	d := &development{options: devOptions{dir: stacktest.Dir(t)}, program: binary}
	d.stack = stacktest.Own(t, devstack.Options{Dir: d.options.dir})
	if err := d.start(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), d.stack.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	c := &campaign{stack: d.stack, pool: pool, creds: d.credentials}
	script := newDemo(nil, d.credentials)
	if c.creator, err = script.as("creator"); err != nil {
		t.Fatal(err)
	}
	if c.contributor, err = script.as("contributor"); err != nil {
		t.Fatal(err)
	}
	c.createBounties(t, 2*campaignBounties)
	return c
}

func (c *campaign) createBounties(t *testing.T, n int) {
	t.Helper()
	course, err := answer((*client.CreateCourseResult).GetJSON201)(c.creator.CreateCourseWithResponse(t.Context(), nil,
		client.CreateCourseRequest{Title: "Faults", Visibility: client.VisibilityPublic}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		reward := int64(baseReward + 10*i)
		bounty, err := answer((*client.CreateBountyResult).GetJSON201)(c.creator.CreateBountyWithResponse(t.Context(), nil,
			client.CreateBountyRequest{CourseID: course.ID, Title: fmt.Sprint("Bounty ", i), Description: "Survive.", RewardAmountCents: reward}))
		if err != nil {
			t.Fatal(err)
		}
		c.bounties = append(c.bounties, &trackedBounty{id: bounty.ID, reward: reward})
	}
}

func awarded(b *client.Bounty) bool { return b.Status == client.BountyStatusAwarded }

func paid(b *client.Bounty) bool { return b.Status == client.BountyStatusPaid }

// drive takes every bounty to the goal, all at the same time, as agents do that do not
// give up: look where the bounty stands, ask for the next step, look again.
func (c *campaign) drive(t *testing.T, bounties []*trackedBounty, goal func(*client.Bounty) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), recovery, errors.New("not recovered in time"))
	defer cancel()
	var agents sync.WaitGroup
	for _, b := range bounties {
		agents.Go(func() {
			if err := c.driveOne(ctx, b, goal); err != nil {
				t.Errorf("bounty %s: %v", b.id, err)
			}
		})
	}
	agents.Wait()
}

func (c *campaign) driveOne(ctx context.Context, b *trackedBounty, goal func(*client.Bounty) bool) error {
	const shortest, longest = 50 * time.Millisecond, time.Second
	pause := shortest
	var last error
	for before := client.BountyStatus(""); ; {
		bounty, err := answer((*client.GetBountyResult).GetJSON200)(c.creator.GetBountyWithResponse(ctx, b.id))
		if err == nil && goal(bounty) {
			return nil
		}
		pause = min(2*pause, longest)
		if err == nil {
			if bounty.Status != before {
				before, pause = bounty.Status, shortest
			}
			err = c.nextStep(ctx, bounty)
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; it is %s, the last refusal was: %w", context.Cause(ctx), before, last)
		case <-time.After(pause):
		}
	}
}

// nextStep asks for what takes the bounty on from where it stands.
func (c *campaign) nextStep(ctx context.Context, b *client.Bounty) error {
	switch {
	case b.Status == client.BountyStatusDraft && *b.FundingStatus != client.FundingStatusFunded:
		_, err := answer((*client.FundBountyResult).GetJSON200)(c.creator.FundBountyWithResponse(ctx, b.ID))
		return err
	case b.Status == client.BountyStatusDraft:
		_, err := answer((*client.OpenBountyResult).GetJSON200)(c.creator.OpenBountyWithResponse(ctx, b.ID))
		return err
	case b.Status == client.BountyStatusOpen:
		return c.submitAndAccept(ctx, b)
	case b.Status == client.BountyStatusAwarded:
		_, err := answer((*client.CreateBountyPayoutResult).GetJSON201)(c.creator.CreateBountyPayoutWithResponse(ctx, b.ID, nil))
		return err
	}
	return fmt.Errorf("the bounty is %s", b.Status)
}

// submitAndAccept sends the same submission however often it is called: its
// Idempotency-Key is the bounty's.
func (c *campaign) submitAndAccept(ctx context.Context, b *client.Bounty) error {
	key := "submission-for-" + b.ID.String()
	submission, err := answer((*client.CreateBountySubmissionResult).GetJSON201)(c.contributor.CreateBountySubmissionWithResponse(ctx, b.ID,
		&client.CreateBountySubmissionParams{IdempotencyKey: &key}, client.CreateBountySubmissionRequest{Title: "Done", Description: "Look."}))
	if err != nil {
		return err
	}
	_, err = answer((*client.AcceptBountySubmissionResult).GetJSON200)(c.creator.AcceptBountySubmissionWithResponse(ctx, b.ID, submission.ID))
	return err
}

// awaitMovement returns when there are more ledger transactions of the kind than there
// were beforehand.
func (c *campaign) awaitMovement(t *testing.T, kind string, beforehand int) {
	t.Helper()
	eventually(t, recovery, func() error {
		if n := c.movements(t, kind); n <= beforehand {
			return fmt.Errorf("%d ledger transactions of kind %s", n, kind)
		}
		return nil
	})
}

func (c *campaign) movements(t *testing.T, kind string) (n int) {
	t.Helper()
	if err := c.pool.QueryRow(t.Context(), `SELECT count(*) FROM ledger_transactions WHERE kind = $1`, kind).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// reportTheMiddle says how far both waves are when the fault strikes.
func (c *campaign) reportTheMiddle(t *testing.T) {
	t.Helper()
	funded, settled := c.movements(t, "escrow_funded")-campaignBounties, c.movements(t, "payout")
	if funded == campaignBounties && settled >= campaignBounties {
		t.Fatal("both waves were over before the fault struck")
	}
	t.Logf("the fault strikes with %d of %d funded and %d of %d settled", funded, campaignBounties, settled, campaignBounties)
}

// checkMoneyMovedOnce compares ledger, balances and books with what must have happened.
func (c *campaign) checkMoneyMovedOnce(t *testing.T) {
	t.Helper()
	var spent, earned int64
	for _, b := range c.bounties {
		spent += b.reward
		earned += b.reward - b.reward/10
		var funded, settled, payouts int
		err := c.pool.QueryRow(t.Context(), `SELECT
			(SELECT count(*) FROM ledger_transactions WHERE kind = 'escrow_funded' AND reference_id = $1),
			(SELECT count(*) FROM ledger_transactions t JOIN bounty_payouts p ON t.id = p.ledger_transaction_id WHERE p.bounty_id = $1),
			(SELECT count(*) FROM bounty_payouts WHERE bounty_id = $1 AND status = 'settled')`, b.id).Scan(&funded, &settled, &payouts)
		if err != nil || funded != 1 || settled != 1 || payouts != 1 {
			t.Errorf("bounty %s: funded %d times, settled %d times by %d payouts (%v)", b.id, funded, settled, payouts, err)
		}
	}
	if got, want := creditOf(t, c.creds, "creator"), devCredit-spent; got != want {
		t.Errorf("the creator has %d cents, want %d", got, want)
	}
	if got, want := creditOf(t, c.creds, "contributor"), devCredit+earned; got != want {
		t.Errorf("the contributor has %d cents, want %d", got, want)
	}
	var movements int
	if err := c.pool.QueryRow(t.Context(), `SELECT count(*) FROM ledger_transactions WHERE kind IN ('escrow_funded', 'payout')`).Scan(&movements); err != nil || movements != 2*len(c.bounties) {
		t.Errorf("%d movements for %d bounties (%v)", movements, len(c.bounties), err)
	}
	verified := marketplace(t, []string{"MARKETPLACE_DATABASE_URL=" + c.creds.DatabaseURL}, "admin", "ledger", "verify")
	if verified.code != 0 {
		t.Errorf("ledger verify: exit %d\n%s%s", verified.code, verified.stdout, verified.stderr)
	}
	c.checkNoWorkflowIsStuck(t)
}

// checkNoWorkflowIsStuck waits until every workflow has closed: none is left that
// would wait forever for an event that came while its server was down.
func (c *campaign) checkNoWorkflowIsStuck(t *testing.T) {
	t.Helper()
	count := c.stack.TemporalUIURL + "/api/v1/namespaces/default/workflow-count?query=" +
		url.QueryEscape(`ExecutionStatus = "Running" AND WorkflowType IN ("Bounty", "Payout")`)
	eventually(t, recovery, func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, count, nil)
		if err != nil {
			return err
		}
		return noneRunning(req)
	})
}

func noneRunning(req *http.Request) error {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var running struct{ Count string }
	if err := json.NewDecoder(res.Body).Decode(&running); err != nil {
		return err
	}
	if running.Count != "" && running.Count != "0" {
		return fmt.Errorf("%s workflows are still running", running.Count)
	}
	return nil
}
