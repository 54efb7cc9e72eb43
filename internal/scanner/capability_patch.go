package scanner

import (
	"fmt"
	"slices"
	"strings"
)

// PatchOperation is one operation of a JSON Patch (RFC 6902).
type PatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// DeclarationPatch repairs a declaration: Operations apply to the declared
// capabilities as the review shows them (every list present, sorted); Result is what
// they give, ready to be written to capabilities.yaml.
type DeclarationPatch struct {
	Operations []PatchOperation `json:"operations"`
	Result     Capabilities     `json:"result"`
}

// NewDeclarationPatch adds every observed value that is not covered and replaces
// wildcards by what was observed. It leaves what was declared and not seen, because a
// static reading proves no absence.
func NewDeclarationPatch(declared *Capabilities, observed []Observation) *DeclarationPatch {
	p := &DeclarationPatch{Operations: []PatchOperation{}}
	if declared == nil {
		p.Result = observedCapabilities(observed)
		p.Operations = append(p.Operations, PatchOperation{Op: "add", Path: "", Value: p.Result})
		return p
	}
	p.Result = clone(declared)
	for _, name := range capabilityNames {
		p.narrow(name)
	}
	for _, o := range observed {
		list := p.Result.field(o.Capability)
		if o.Capability == CapRead && anyCovers(CapWrite, p.Result.Filesystem.Write, o.Value) || anyCovers(o.Capability, *list, o.Value) {
			continue
		}
		*list = append(*list, o.Value)
		p.Operations = append(p.Operations, PatchOperation{Op: "add", Path: pointer(o.Capability) + "/-", Value: o.Value})
	}
	return p
}

// narrow removes a capability's wildcards, last first so that indices stay right.
func (p *DeclarationPatch) narrow(capability string) {
	list := p.Result.field(capability)
	for i := len(*list) - 1; i >= 0; i-- {
		if _, wild := breadth(capability, (*list)[i]); wild {
			*list = slices.Delete(*list, i, i+1)
			p.Operations = append(p.Operations, PatchOperation{Op: "remove", Path: fmt.Sprintf("%s/%d", pointer(capability), i)})
		}
	}
}

func clone(c *Capabilities) Capabilities {
	out := *c
	for _, name := range capabilityNames {
		*out.field(name) = slices.Clone(*c.field(name))
	}
	return *out.normalize()
}

func pointer(capability string) string { return "/" + strings.ReplaceAll(capability, ".", "/") }

// capabilityRisk sums what the observed capabilities could do if misused: reading
// credentials and reaching the network together weigh most.
func capabilityRisk(observed []Observation) int {
	weights := map[string]int{CapNetwork: 12, CapWrite: 6, CapRead: 3, CapCommand: 4, CapVariable: 2, CapServer: 12, CapPackage: 1, CapTool: 1}
	caps := map[string]int{CapNetwork: 30, CapWrite: 18, CapRead: 10, CapCommand: 20, CapVariable: 8, CapServer: 24, CapPackage: 5, CapTool: 5}
	sums := map[string]int{}
	for _, o := range observed {
		w := weights[o.Capability]
		if o.Sensitive {
			w *= 3
		}
		if o.Documentary {
			w /= 2
		}
		sums[o.Capability] = min(sums[o.Capability]+w, caps[o.Capability])
	}
	total := 0
	for _, s := range sums {
		total += s
	}
	return min(total, 100)
}

func mismatchFinding(m Mismatch) Finding {
	f := Finding{
		RuleID: "capabilities." + m.ReasonCode, Category: "undeclared_capability", Severity: m.Severity, Confidence: 0.75,
		FilePath: m.FilePath, LineStart: m.LineStart, Snippet: m.Observed,
		Remediation: "Apply the declaration patch that the report carries, or remove the use.",
	}
	if m.documentary {
		f.Confidence = 0.4
	}
	switch m.Kind {
	case MismatchWildcard:
		f.RuleID = "capabilities.wildcard_declared"
		f.Snippet = m.Declared
		f.Title = "Declares more than can be overseen"
		f.Message = fmt.Sprintf("The declaration allows %q for %s.", m.Declared, m.Capability)
	case MismatchMissingDeclaration:
		f.Title = "Capabilities are not declared"
		f.Message = "The bundle uses capabilities and has no declaration of them."
	case MismatchOverdeclared:
		f.Snippet = m.Declared
		f.Title = "Declared and not observed"
		f.Message = fmt.Sprintf("%q is declared for %s and was not seen in use.", m.Declared, m.Capability)
		f.Remediation = "Remove it from the declaration if it is not needed."
	default:
		f.Title = "Uses what it does not declare"
		f.Message = fmt.Sprintf("%q is used (%s) and the declaration does not cover it.", m.Observed, m.Capability)
	}
	return f
}
