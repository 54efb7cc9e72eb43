package scanner

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the report for a person at a terminal. Everything that came from
// the bundle was made visible when the finding was recorded.
func (r Report) WriteTable(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(out, "Verdict:\t%s\nRisk score:\t%d of 100\n", r.Verdict, r.RiskScore)
	if r.Wording != nil {
		fmt.Fprintf(out, "Wording:\t%.0f %% like that of harmful bundles\n", 100*r.Wording.Likelihood)
	}
	if r.Capabilities != nil {
		fmt.Fprintf(out, "Capabilities:\t%s\n", r.Capabilities.Status)
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "LAYER\tSTATUS\tFINDINGS\tTIME")
	for _, name := range []string{LayerStructure, LayerStatic, LayerSecrets, LayerDependencies, LayerBehavioral, LayerCapabilities} {
		if layer, ok := r.Layers[name]; ok {
			fmt.Fprintf(out, "%s\t%s\t%d\t%d ms\n", name, layer.Status, countReal(layer.Findings), layer.DurationMS)
		}
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(out, "\nSEVERITY\tSURE\tWHERE\tWHAT")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s\t%.0f %%\t%s\t%s [%s]\n", strings.ToUpper(string(f.Severity)), f.Confidence*100, visible(place(f)), f.Title, f.RuleID)
		if f.Snippet != "" {
			fmt.Fprintf(out, "\t\t\t  %s\n", f.Snippet)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func place(f Finding) string {
	switch {
	case f.FilePath == "":
		return "(bundle)"
	case f.LineStart == 0:
		return f.FilePath
	}
	return fmt.Sprintf("%s:%d", f.FilePath, f.LineStart)
}

func countReal(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.Outcome != OutcomePass {
			n++
		}
	}
	return n
}
