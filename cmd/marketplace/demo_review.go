package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/workflows"
)

// The demo's course asks one host for the forecast.
const (
	demoMainFile = `---
name: reading-the-weather
description: Teaches an agent to read a weather forecast and to explain it in two sentences.
license: Apache-2.0
---

# Reading the weather

Run scripts/forecast.py with a city, then tell the user what to wear.
`
	demoScript = `import json
import sys
import urllib.parse
import urllib.request

city = urllib.parse.quote(sys.argv[1])
with urllib.request.urlopen("https://api.weather.example/forecast?city=" + city) as answer:
    print(json.load(answer)["summary"])
`
	demoDeclaration      = "schema_version: \"1\"\nnetwork:\n  domains: [api.weather.example]\n"
	demoUnderdeclaration = "schema_version: \"1\"\nnetwork:\n  domains: []\n"
)

// publication is one course on its way into the catalog.
type publication struct {
	*demo
	author, reviewer *client.ClientWithResponses
	course           uuid.UUID
}

func (d *demo) newPublication(ctx context.Context, title string) (*publication, error) {
	p := &publication{demo: d}
	var err error
	if p.author, err = d.as("creator"); err != nil {
		return nil, err
	}
	if p.reviewer, err = d.as("reviewer"); err != nil {
		return nil, err
	}
	course, err := answer((*client.CreateCourseResult).GetJSON201)(p.author.CreateCourseWithResponse(ctx, nil,
		client.CreateCourseRequest{Title: title, Visibility: client.VisibilityPublic}))
	if err != nil {
		return nil, fmt.Errorf("create a course: %w", err)
	}
	p.course = course.ID
	d.step(d.api("/v1/courses/"+course.ID.String()), "The author makes the course «%s».", course.Title)
	return p, nil
}

// cleanCourseJourney: upload → scan → human review → approve → published.
func (d *demo) cleanCourseJourney(ctx context.Context) error {
	d.title("A course, from its upload to the catalog")
	p, err := d.newPublication(ctx, "Reading the weather")
	if err != nil {
		return err
	}
	review, err := p.uploadAndScan(ctx, "1.0.0", demoDeclaration)
	if err != nil {
		return err
	}
	if err := p.readBundle(ctx, review.ID); err != nil {
		return err
	}
	return p.approve(ctx, review.ID)
}

// repairedCourseJourney: a course that does not declare the host it asks is rejected; its
// agent applies the patch that comes with the rejection and is published.
func (d *demo) repairedCourseJourney(ctx context.Context) error {
	d.title("A course that does more than it declares, and the agent that repairs it")
	p, err := d.newPublication(ctx, "Reading the weather, carelessly")
	if err != nil {
		return err
	}
	review, err := p.uploadAndScan(ctx, "1.0.0", demoUnderdeclaration)
	if err != nil {
		return err
	}
	declaration, err := p.rejectAndRepair(ctx, review)
	if err != nil {
		return err
	}
	if review, err = p.uploadAndScan(ctx, "1.0.1", declaration); err != nil {
		return err
	}
	return p.approve(ctx, review.ID)
}

// uploadAndScan uploads a version, asks for its publication and waits for the scan.
func (p *publication) uploadAndScan(ctx context.Context, number, declaration string) (*client.GetReviewStatusResponse, error) {
	archive, err := zipped(map[string]string{"SKILL.md": demoMainFile, "scripts/forecast.py": demoScript, "capabilities.yaml": declaration})
	if err != nil {
		return nil, err
	}
	version, err := answer((*client.CreateCourseVersionResult).GetJSON201)(p.author.CreateCourseVersionWithBodyWithResponse(ctx, p.course,
		&client.CreateCourseVersionParams{Version: number}, "application/zip", archive))
	if err != nil {
		return nil, fmt.Errorf("upload version %s: %w", number, err)
	}
	p.step(p.api("/v1/courses/"+p.course.String()+"/versions"), "The author uploads version %s: %d files, %s.", version.Version, len(version.Files), version.ContentDigest)

	requested, err := answer((*client.RequestPublicationResult).GetJSON201)(p.author.RequestPublicationWithResponse(ctx, p.course, nil))
	if err != nil {
		return nil, fmt.Errorf("ask for publication: %w", err)
	}
	p.step(p.workflow(workflows.ReviewWorkflowID(requested.ID)), "The author asks for it to be published: a workflow has every file read by six layers.")

	review, err := await(ctx, p.status, func(r *client.GetReviewStatusResponse) bool {
		return r.Status != client.ReviewStatusQueued && r.Status != client.ReviewStatusScanning
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the scan: %w", err)
	}
	if review.Status != client.ReviewStatusHumanReview || review.Scan == nil || review.CapabilitiesStatus == nil {
		return nil, fmt.Errorf("the review is %s", review.Status)
	}
	p.step(p.api("/v1/courses/"+p.course.String()+"/publication-reviews/latest"),
		"The scanner advises «%s»: risk %d of 100, findings: %d, capabilities: %s. A person decides.",
		review.Scan.Verdict, review.Scan.RiskScore, len(review.Findings), *review.CapabilitiesStatus)
	for _, f := range review.Findings {
		p.note("%s %s: %s", f.Severity, f.RuleID, f.Message)
	}
	return review, nil
}

func (p *publication) status(ctx context.Context) (*client.GetReviewStatusResponse, error) {
	return answer((*client.GetReviewStatusResult).GetJSON200)(p.author.GetReviewStatusWithResponse(ctx, p.course, nil))
}

// readBundle follows a link to the main file, twice.
func (p *publication) readBundle(ctx context.Context, review uuid.UUID) error {
	links, err := answer((*client.GetReviewBundleResult).GetJSON200)(p.reviewer.GetReviewBundleWithResponse(ctx, review))
	if err != nil {
		return fmt.Errorf("ask for the files under review: %w", err)
	}
	p.step(p.api("/v1/course-reviews/"+review.String()), "The reviewer reads the findings and gets a link to each of the %d files.", len(links.Files))
	for _, f := range links.Files {
		if f.Role != client.FileRoleMain {
			continue
		}
		first, err := get(ctx, f.URL)
		if err != nil {
			return err
		}
		second, err := get(ctx, f.URL)
		if err != nil {
			return err
		}
		p.step("", "A link is good for one GET: %s answers %d, then %d.", f.Path, first, second)
	}
	return nil
}

func get(ctx context.Context, url string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

func (p *publication) approve(ctx context.Context, review uuid.UUID) error {
	_, err := answer((*client.ApproveHumanReviewResult).GetJSON200)(p.reviewer.ApproveHumanReviewWithResponse(ctx, review, client.ApproveHumanReviewRequest{}))
	if err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	resource, err := p.publishedResource(ctx)
	if err != nil {
		return err
	}
	p.step(p.workflow(workflows.ReviewWorkflowID(review)), "The reviewer approves: the course is in the catalog as the resource %s.", resource)
	return nil
}

// publishedResource is what the author's inbox says the course has become.
func (p *publication) publishedResource(ctx context.Context) (string, error) {
	approved := client.NotificationTypeCourseReviewApproved
	inbox, err := answer((*client.ListNotificationsResult).GetJSON200)(p.author.ListNotificationsWithResponse(ctx, &client.ListNotificationsParams{Type: &approved}))
	if err != nil {
		return "", fmt.Errorf("read the inbox: %w", err)
	}
	for _, n := range inbox.Items {
		if n.Data["course_id"] == p.course.String() {
			return fmt.Sprint(n.Data["resource_id"]), nil
		}
	}
	return "", errors.New("the author was not told of the approval")
}

// rejectAndRepair rejects the review for its first mismatch and returns the declaration
// as the agent has patched it.
func (p *publication) rejectAndRepair(ctx context.Context, review *client.GetReviewStatusResponse) (string, error) {
	if len(review.CapabilityMismatches) == 0 {
		return "", errors.New("the scanner saw no mismatch")
	}
	mismatch := review.CapabilityMismatches[0]
	_, err := answer((*client.RejectHumanReviewResult).GetJSON200)(p.reviewer.RejectHumanReviewWithResponse(ctx, review.ID,
		client.RejectHumanReviewRequest{DecisionReason: "Undeclared network access", ReviewerNotes: "Declare the host that the script asks.",
			CapabilityReasonCode: &mismatch.ReasonCode}))
	if err != nil {
		return "", fmt.Errorf("reject: %w", err)
	}
	p.step(p.workflow(workflows.ReviewWorkflowID(review.ID)), "The reviewer rejects it: %s.", mismatch.ReasonCode)

	rejected, err := p.status(ctx)
	if err != nil {
		return "", fmt.Errorf("read the decision: %w", err)
	}
	if rejected.Decision == nil || rejected.Decision.DeclarationPatch == nil {
		return "", errors.New("the rejection carries no patch")
	}
	patch := rejected.Decision.DeclarationPatch
	declaration, err := asYAML(patch.Result)
	if err != nil {
		return "", err
	}
	p.step(p.api("/v1/courses/"+p.course.String()+"/publication-reviews/latest"), "The author's agent reads the decision and applies its patch to capabilities.yaml:")
	for _, o := range patch.Operations {
		p.note("%s %s %v", o.Op, o.Path, o.Value)
	}
	return declaration, nil
}

// asYAML writes capabilities under the names that they have in JSON.
func asYAML(c client.Capabilities) (string, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(document)
	return string(text), err
}

func zipped(files map[string]string) (io.Reader, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		entry, err := w.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(entry, files[name]); err != nil {
			return nil, err
		}
	}
	return &packed, w.Close()
}
