package scanner

// Report is the whole answer about one bundle.
type Report struct {
	ScannerVersion  string                 `json:"scanner_version"`
	RulePackVersion string                 `json:"rule_pack_version"`
	Verdict         Verdict                `json:"verdict"`
	RiskScore       int                    `json:"risk_score"`
	Layers          map[string]LayerResult `json:"layers"`
	// Findings are those of every layer, worst first, without the passes.
	Findings []Finding `json:"findings"`
	// Wording is nil when there was no text to read.
	Wording *WordingReport `json:"wording,omitempty"`
	// Capabilities is nil when the capabilities layer did not run.
	Capabilities *CapabilityReport `json:"capabilities,omitempty"`
}

// Assemble joins the layers' results. It is pure: the same results give the same report.
func Assemble(results []LayerResult) Report {
	report := Report{ScannerVersion: Version, RulePackVersion: rulePackVersion(), Layers: make(map[string]LayerResult, len(results)), Findings: []Finding{}}
	for _, r := range results {
		report.Layers[r.Layer] = r
		if r.Capabilities != nil {
			report.Capabilities = r.Capabilities
		}
		if r.Wording != nil {
			report.Wording = r.Wording
		}
		for _, f := range r.Findings {
			if f.Outcome != OutcomePass {
				report.Findings = append(report.Findings, f)
			}
		}
	}
	sortFindings(report.Findings)
	report.RiskScore = riskScore(report.Findings)
	report.Verdict = verdictOf(report.Findings, report.RiskScore, report.Wording)
	return report
}

// FindingsByLayer has a key for every layer that ran, sorted worst first; an empty
// list means that the layer ran clean.
func (r Report) FindingsByLayer(includePass bool) map[string][]Finding {
	by := make(map[string][]Finding, len(r.Layers))
	for name, layer := range r.Layers {
		by[name] = []Finding{}
		for _, f := range layer.Findings {
			if includePass || f.Outcome != OutcomePass {
				by[name] = append(by[name], f)
			}
		}
	}
	return by
}
