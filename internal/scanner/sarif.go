package scanner

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
)

// SARIF 2.1.0 (OASIS), as far as a scan needs it.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results    []sarifResult  `json:"results"`
	Properties map[string]any `json:"properties"`
}

type sarifDriver struct {
	Name            string      `json:"name"`
	Version         string      `json:"version"`
	SemanticVersion string      `json:"semanticVersion"`
	Rules           []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string         `json:"id"`
	ShortDescription sarifText      `json:"shortDescription"`
	Help             *sarifText     `json:"help,omitempty"`
	Properties       map[string]any `json:"properties"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifLocation   `json:"locations,omitempty"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Rank                float64           `json:"rank"`
}

type sarifLocation struct {
	PhysicalLocation struct {
		ArtifactLocation struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine int        `json:"startLine"`
	EndLine   int        `json:"endLine"`
	Snippet   *sarifText `json:"snippet,omitempty"`
}

// WriteSARIF writes the report as SARIF 2.1.0 for editors and code hosts.
func (r Report) WriteSARIF(w io.Writer) error {
	run := sarifRun{Results: []sarifResult{}, Properties: map[string]any{"verdict": r.Verdict, "riskScore": r.RiskScore, "rulePackVersion": r.RulePackVersion}}
	run.Tool.Driver = sarifDriver{Name: "marketplace-scanner", Version: r.ScannerVersion, SemanticVersion: r.ScannerVersion, Rules: []sarifRule{}}
	index := map[string]int{}
	for _, f := range r.Findings {
		if _, known := index[f.RuleID]; !known {
			index[f.RuleID] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(f))
		}
		run.Results = append(run.Results, sarifResultOf(f, index[f.RuleID]))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	if err := encoder.Encode(log); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

func sarifRuleOf(f Finding) sarifRule {
	rule := sarifRule{ID: f.RuleID, ShortDescription: sarifText{f.Title}, Properties: map[string]any{"tags": []string{"security", f.Category}, "security-severity": securitySeverity[f.Severity]}}
	if f.Remediation != "" {
		rule.Help = &sarifText{f.Remediation}
	}
	return rule
}

// securitySeverity is the CVSS-like number that code hosts sort by.
var securitySeverity = map[Severity]string{SeverityInfo: "0.0", SeverityLow: "3.0", SeverityMedium: "5.5", SeverityHigh: "8.0", SeverityCritical: "9.5"}

var sarifLevel = map[Severity]string{SeverityInfo: "note", SeverityLow: "note", SeverityMedium: "warning", SeverityHigh: "error", SeverityCritical: "error"}

func sarifResultOf(f Finding, rule int) sarifResult {
	result := sarifResult{
		RuleID: f.RuleID, RuleIndex: rule, Level: sarifLevel[f.Severity], Message: sarifText{f.Message}, Rank: f.Confidence * 100,
		PartialFingerprints: map[string]string{"marketplaceScanner/v1": f.Fingerprint},
	}
	if f.FilePath == "" {
		return result
	}
	var location sarifLocation
	location.PhysicalLocation.ArtifactLocation.URI = (&url.URL{Path: f.FilePath}).EscapedPath()
	if f.LineStart > 0 {
		location.PhysicalLocation.Region = &sarifRegion{StartLine: f.LineStart, EndLine: max(f.LineEnd, f.LineStart)}
		if f.Snippet != "" {
			location.PhysicalLocation.Region.Snippet = &sarifText{f.Snippet}
		}
	}
	result.Locations = []sarifLocation{location}
	return result
}
