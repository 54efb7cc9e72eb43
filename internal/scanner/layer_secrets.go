package scanner

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	re2 "github.com/wasilibs/go-re2"
	"github.com/zricethezav/gitleaks/v8/report"
)

func secretsLayer() Layer {
	return Layer{Name: LayerSecrets, Limit: 2 * time.Minute, visit: visitSecrets}
}

const (
	secretWindow = 256 << 10
	// enoughSecrets in one file tell a reviewer all that there is to tell: only the first
	// of each kind are listed anyway.
	enoughSecrets = 500
)

// visitSecrets looks for credentials that were shipped with the bundle.
func visitSecrets(v *visit) {
	if !v.info.isText() {
		return
	}
	rules, err := loadSecretRules()
	if err != nil {
		v.findings.indeterminate(v.file.Path, "rules", "The secret rules could not be loaded.")
		return
	}
	text, err := v.file.readText()
	if err != nil {
		v.findings.indeterminate(v.file.Path, "unreadable", "The file could not be read: "+readReason(err))
		return
	}
	line, hits := 1, 0
	for _, window := range windows(text, secretWindow) {
		if v.ctx.Err() != nil || hits > enoughSecrets {
			return
		}
		found := rules.detect(v.ctx, window)
		for _, hit := range found {
			v.secret(hit, line)
		}
		hits += len(found)
		line += strings.Count(window, "\n")
	}
	v.passwordInURL(text)
}

// windows cuts text at line ends into parts of about size bytes.
func windows(text string, size int) []string {
	var out []string
	for len(text) > size {
		cut := strings.LastIndexByte(text[:size], '\n') + 1
		if cut == 0 {
			cut = size
		}
		out = append(out, text[:cut])
		text = text[cut:]
	}
	return append(out, text)
}

var (
	placeholder   = regexp.MustCompile(`(?i)(example|sample|dummy|placeholder|changeme|change_me|your[_-]?|xxx|\.\.\.|<[^>]*>|\$\{|\{\{|redacted|fake|test[_-]?(key|token|secret)|insert|replace|todo|foobar|abcdef|12345678|0000000|deadbeef|not[_-]?a?[_-]?real|lorem|secret[_-]?here|my[_-]?(secret|token|key|password))`)
	privateKey    = "private-key"
	genericSecret = "generic-api-key"
)

// secret turns a hit into a finding that never shows the credential.
func (v *visit) secret(hit report.Finding, base int) {
	if placeholder.MatchString(hit.Secret) || monotone(hit.Secret) {
		return
	}
	if v.info.role == roleLock && hit.RuleID == genericSecret {
		return // integrity hashes
	}
	confidence, severity := 0.85, SeverityHigh
	if hit.RuleID == genericSecret {
		confidence, severity = 0.5, SeverityMedium
		if looksLikeHash(hit.Secret) {
			confidence = 0.3
		}
	}
	if hit.RuleID == "jwt" || hit.RuleID == "jwt-base64" {
		confidence, severity = 0.5, SeverityMedium // expire soon, and every tutorial shows one
	}
	if hit.RuleID == privateKey && !strings.Contains(hit.Match, "\n") && len(hit.Secret) < 200 {
		confidence = 0.4
	}
	factor := roleFactor(v.info.role)
	if placeholder.MatchString(hit.Line) {
		factor *= 0.5
	}
	if v.info.kind == kindMarkdown {
		factor *= 0.85
	}
	v.findings.add(Finding{
		RuleID: "secrets." + strings.ReplaceAll(hit.RuleID, "-", "_"), Category: "secret", Severity: severity, Confidence: confidence * factor,
		Title: "Credential in the bundle", Message: fmt.Sprintf("%s The value is not shown.", strings.TrimSpace(hit.Description)),
		Remediation: "Revoke the credential, remove it from the bundle, and read it from a declared environment variable.",
		FilePath:    v.file.Path, LineStart: base + hit.StartLine, LineEnd: base + hit.EndLine,
		Snippet: redact(hit.Match, hit.Secret),
	}, fingerprint("secret", "", hit.Secret))
}

func redact(match, secret string) string {
	if secret == "" {
		return "[redacted]"
	}
	shown := strings.ReplaceAll(match, secret, "[redacted]")
	if len(secret) > 24 && strings.Contains(shown, secret[:12]) {
		return "[redacted]"
	}
	return firstLine(shown)
}

var hashLike = regexp.MustCompile(`^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-fA-F-]{36})$`)

func looksLikeHash(s string) bool { return hashLike.MatchString(s) }

// monotone reports values that repeat few characters, which no credential does.
func monotone(s string) bool {
	counts := map[rune]int{}
	total := 0
	for _, r := range s {
		counts[r]++
		total++
	}
	entropy := 0.0
	for _, n := range counts {
		p := float64(n) / float64(total)
		entropy -= p * math.Log2(p)
	}
	return total > 0 && entropy < 2
}

var urlPassword = re2.MustCompile(`\b[a-z][a-z0-9+]{2,12}://([^/\s:@"'<>]{1,40}):([^/\s:@"'<>]{6,60})@([^\s/"':<>]+)`)

// passwordInURL finds user:password@host, which gitleaks leaves out.
func (v *visit) passwordInURL(text string) {
	for _, m := range urlPassword.FindAllStringSubmatchIndex(text, 20) {
		password, host := text[m[4]:m[5]], text[m[6]:m[7]]
		if placeholder.MatchString(password) || strings.ContainsAny(password, "${}%") || isLocal(host) || isPlaceholder(host) || commonPassword[strings.ToLower(password)] {
			continue
		}
		v.findings.add(Finding{
			RuleID: "secrets.password_in_url", Category: "secret", Severity: SeverityMedium, Confidence: 0.7 * roleFactor(v.info.role),
			Title: "Password in a URL", Message: "A URL carries a user name and a password. The password is not shown.",
			Remediation: "Read the credential from a declared environment variable.",
			FilePath:    v.file.Path, LineStart: lineOf(text, m[0]), Snippet: text[m[0]:m[4]] + "[redacted]@" + host,
		}, fingerprint("secret", "", password))
	}
}

var commonPassword = wordSet("password postgres secret passwd admin mysql mongo rabbitmq guest hunter2 pass1234 password123 letmein")
