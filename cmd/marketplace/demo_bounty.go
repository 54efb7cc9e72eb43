package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/workflows"
)

// demoReward is what the demo's bounty pays, in cents.
const demoReward = 250_00

// bountyJourney: fund → open → submit → accept → payout settled.
func (d *demo) bountyJourney(ctx context.Context) error {
	creator, err := d.as("creator")
	if err != nil {
		return err
	}
	contributor, err := d.as("contributor")
	if err != nil {
		return err
	}
	d.title("A bounty, from its funding to the payout")
	bounty, err := d.fundAndOpen(ctx, creator)
	if err != nil {
		return err
	}
	submission, err := d.submitAndAccept(ctx, bounty, creator, contributor)
	if err != nil {
		return err
	}
	if err := d.payOut(ctx, bounty, creator, contributor); err != nil {
		return err
	}
	d.step(d.workflow(workflows.BountyWorkflowID(bounty)), "The bounty's whole life is one workflow; submission %s won it.", submission)
	return nil
}

func (d *demo) fundAndOpen(ctx context.Context, creator *client.ClientWithResponses) (uuid.UUID, error) {
	course, err := answer((*client.CreateCourseResult).GetJSON201)(creator.CreateCourseWithResponse(ctx, nil,
		client.CreateCourseRequest{Title: "Agents that ask before they act", Visibility: client.VisibilityPublic}))
	if err != nil {
		return uuid.Nil, fmt.Errorf("create a course: %w", err)
	}
	d.step(d.api("/v1/courses/"+course.ID.String()), "The creator makes the course «%s».", course.Title)

	bounty, err := answer((*client.CreateBountyResult).GetJSON201)(creator.CreateBountyWithResponse(ctx, nil,
		client.CreateBountyRequest{
			CourseID: course.ID, Title: "Add a lesson on tool permissions", RewardAmountCents: demoReward,
			Description: "One lesson with an exercise that shows why an agent declares what it needs.",
		}))
	if err != nil {
		return uuid.Nil, fmt.Errorf("create a bounty: %w", err)
	}
	d.step(d.api("/v1/bounties/"+bounty.ID.String()), "The creator offers %s %s for «%s».", cents(bounty.RewardAmountCents), bounty.Currency, bounty.Title)

	if _, err := answer((*client.FundBountyResult).GetJSON200)(creator.FundBountyWithResponse(ctx, bounty.ID)); err != nil {
		return uuid.Nil, fmt.Errorf("fund the bounty: %w", err)
	}
	d.step(d.workflow(workflows.BountyWorkflowID(bounty.ID)), "The creator funds it: the reward moves into escrow, and a workflow begins.")

	if _, err := answer((*client.OpenBountyResult).GetJSON200)(creator.OpenBountyWithResponse(ctx, bounty.ID)); err != nil {
		return uuid.Nil, fmt.Errorf("open the bounty: %w", err)
	}
	d.step("", "The creator opens it for submissions.")
	return bounty.ID, nil
}

func (d *demo) submitAndAccept(ctx context.Context, bounty uuid.UUID, creator, contributor *client.ClientWithResponses) (uuid.UUID, error) {
	submission, err := answer((*client.CreateBountySubmissionResult).GetJSON201)(contributor.CreateBountySubmissionWithResponse(ctx, bounty, nil,
		client.CreateBountySubmissionRequest{
			Title: "Lesson 7: permissions", Description: "A lesson, an exercise and its solution.",
			Evidence: map[string]any{"lesson": "https://example.com/lessons/permissions"},
		}))
	if err != nil {
		return uuid.Nil, fmt.Errorf("submit: %w", err)
	}
	d.step(d.api(fmt.Sprintf("/v1/bounties/%s/submissions/%s", bounty, submission.ID)), "The contributor submits «%s».", submission.Title)

	accepted, err := answer((*client.AcceptBountySubmissionResult).GetJSON200)(creator.AcceptBountySubmissionWithResponse(ctx, bounty, submission.ID))
	if err != nil {
		return uuid.Nil, fmt.Errorf("accept the submission: %w", err)
	}
	d.step("", "The creator accepts it: the submission is %s, the bounty awarded.", accepted.Status)
	return submission.ID, nil
}

func (d *demo) payOut(ctx context.Context, bounty uuid.UUID, creator, contributor *client.ClientWithResponses) error {
	payout, err := answer((*client.CreateBountyPayoutResult).GetJSON201)(creator.CreateBountyPayoutWithResponse(ctx, bounty, nil))
	if err != nil {
		return fmt.Errorf("pay the bounty out: %w", err)
	}
	d.step(d.workflow(workflows.PayoutWorkflowID(payout.ID)), "The creator pays it out: %s for the contributor, %s for the marketplace.",
		cents(payout.SellerNetAmountCents), cents(payout.MarketplaceFeeCents))

	// Asking again is safe: a bounty has one payout, and this is it.
	payout, err = await(ctx, func(ctx context.Context) (*client.Payout, error) {
		return answer((*client.CreateBountyPayoutResult).GetJSON201)(creator.CreateBountyPayoutWithResponse(ctx, bounty, nil))
	}, func(p *client.Payout) bool { return p.SettledAt != nil || p.Status == client.PayoutStatusFailed })
	if err != nil {
		return fmt.Errorf("wait for the settlement: %w", err)
	}
	if payout.Status != client.PayoutStatusSettled {
		return fmt.Errorf("the payout is %s", payout.Status)
	}
	balance, err := answer((*client.GetCreditBalanceResult).GetJSON200)(contributor.GetCreditBalanceWithResponse(ctx))
	if err != nil {
		return fmt.Errorf("read the balance: %w", err)
	}
	d.step(d.api("/v1/credits"), "The payout is settled; the contributor now has %s.", cents(balance.AvailableCents))
	return nil
}
