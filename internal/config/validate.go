package config

import (
	"fmt"
	"net"
	"net/url"
	"time"
)

// maxFeeBasisPoints is the whole amount.
const maxFeeBasisPoints = 10_000

// checks collects what is wrong with the settings.
type checks []error

func (c *checks) require(ok bool, variable, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Errorf("%s%s %s", Prefix, variable, fmt.Sprintf(format, args...)))
	}
}

// problems checks what the declarations alone cannot say.
func (c *Config) problems() []error {
	var found checks
	c.Process.check(&found)
	c.HTTP.check(&found, c.Process)
	c.Temporal.check(&found)
	c.Tasks.check(&found, c.Process.ShutdownTimeout)
	c.Seal.check(&found)
	c.S3.check(&found)
	c.Rules.check(&found)
	c.RateLimit.check(&found)
	found.require(c.Database.MaxConns >= 2, "DATABASE_MAX_CONNS", "must be at least 2")
	return found
}

func (p Process) check(c *checks) {
	c.require(p.Env == Production || p.Env == Development, "ENV", "must be production or development, not %q", p.Env)
	c.require(p.LogFormat == "json" || p.LogFormat == "text", "LOG_FORMAT", "must be json or text, not %q", p.LogFormat)
	c.require(p.ShutdownTimeout > 0, "SHUTDOWN_TIMEOUT", "must be positive")
	c.address(p.MetricsAddr, "METRICS_ADDR")
}

func (h HTTP) check(c *checks, p Process) {
	c.address(h.ListenAddr, "LISTEN_ADDR")
	c.require(h.UpdateWait > 0 && h.UpdateWait <= time.Minute, "UPDATE_WAIT", "must be between 0 and 1m")
	c.require(h.DrainDelay >= 0 && h.DrainDelay < p.ShutdownTimeout, "DRAIN_DELAY", "must be shorter than %sSHUTDOWN_TIMEOUT (%s)", Prefix, p.ShutdownTimeout)
	if u := c.url(h.PublicURL, "PUBLIC_URL"); u != nil {
		c.require(p.Env == Development || u.Scheme == "https" || isLoopback(u.Hostname()), "PUBLIC_URL",
			"must be https: API keys travel over it")
	}
}

func (t Temporal) check(c *checks) {
	c.require((t.TLSCertFile == "") == (t.TLSKeyFile == ""), "TEMPORAL_TLS_CERT_FILE", "and %sTEMPORAL_TLS_KEY_FILE go together", Prefix)
	c.require(t.Namespace != "", "TEMPORAL_NAMESPACE", "must not be empty")
	c.url(t.UIURL, "TEMPORAL_UI_URL")
}

// UsesTLS reports whether the connection to Temporal is encrypted.
func (t Temporal) UsesTLS() bool {
	return t.TLS || t.TLSCertFile != "" || t.TLSCAFile != "" || t.APIKey.IsSet()
}

func (t TaskHandling) check(c *checks, shutdown time.Duration) {
	c.require(t.TaskQueue != "", "TASK_QUEUE", "must not be empty")
	c.require(t.Activities > 0, "WORKER_ACTIVITIES", "must be positive")
	c.require(t.WorkflowTasks > 1, "WORKER_WORKFLOW_TASKS", "must be at least 2: the SDK keeps one for sticky tasks")
	c.require(t.StopTimeout > 0 && t.StopTimeout < shutdown, "WORKER_STOP_TIMEOUT", "must be positive and shorter than %sSHUTDOWN_TIMEOUT (%s)", Prefix, shutdown)
	c.require((t.DeploymentName == "") == (t.BuildID == ""), "WORKER_DEPLOYMENT_NAME", "and %sWORKER_BUILD_ID go together", Prefix)
}

func (s Seal) check(c *checks) {
	c.address(s.CodecAddr, "CODEC_ADDR")
	for _, origin := range s.CodecAllowedOrigins {
		u, err := url.Parse(origin)
		c.require(err == nil && u.Host != "" && u.Scheme+"://"+u.Host == origin, "CODEC_ALLOWED_ORIGINS", "has %q, which is not an origin such as https://temporal.example.com", origin)
	}
}

func (s S3) check(c *checks) {
	c.url(s.Endpoint, "S3_ENDPOINT")
	c.url(s.PublicEndpoint, "S3_PUBLIC_ENDPOINT")
}

func (r Rules) check(c *checks) {
	c.require(r.FeeBasisPoints >= 0 && r.FeeBasisPoints <= maxFeeBasisPoints, "FEE_BASIS_POINTS", "must be from 0 to %d", maxFeeBasisPoints)
	c.require(r.BountyGrace >= 0, "BOUNTY_GRACE", "must not be negative")
	c.require(r.HoldRecheck >= time.Second, "HOLD_RECHECK", "must be at least 1s")
	c.require(r.PayoutMaxAttempts > 0, "PAYOUT_MAX_ATTEMPTS", "must be positive")
	// AWS refuses presigned URLs that live longer than a week.
	const week = 7 * 24 * time.Hour
	c.require(r.ReviewBundleURLLifetime >= time.Second && r.ReviewBundleURLLifetime <= week, "REVIEW_BUNDLE_URL_LIFETIME", "must be from 1s to 168h")
}

func (r RateLimit) check(c *checks) {
	c.require(r.SignupsPerHour > 0, "SIGNUPS_PER_HOUR", "must be positive")
	c.require(r.PasswordChecksPer15Min > 0, "PASSWORD_CHECKS_PER_15_MINUTES", "must be positive")
	c.require(r.DeviceBeginsPerHour > 0, "DEVICE_BEGINS_PER_HOUR", "must be positive")
	c.require(r.ReferralsPerCodePerDay > 0, "REFERRALS_PER_CODE_PER_DAY", "must be positive")
	c.require(r.ReferralsPerAddressPerDay > 0, "REFERRALS_PER_ADDRESS_PER_DAY", "must be positive")
	c.require(r.Multiplier > 0, "RATE_LIMIT_MULTIPLIER", "must be positive")
}

func (c *checks) address(value, variable string) {
	if value == "" {
		return
	}
	_, _, err := net.SplitHostPort(value)
	c.require(err == nil, variable, "must be host:port or :port, not %q", value)
}

// url returns the parsed value, or nil where there is none or it is wrong.
func (c *checks) url(value, variable string) *url.URL {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	ok := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	c.require(ok, variable, "must be an http or https URL, not %q", value)
	if !ok {
		return nil
	}
	return u
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
