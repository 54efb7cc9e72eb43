// Package config reads the settings of every process from the environment. Each
// variable is declared once, below, with its default and its documentation;
// docs/configuration.md is written from these declarations.
package config

import (
	"log/slog"
	"time"
)

// Prefix begins the name of every variable of the marketplace's own.
const Prefix = "MARKETPLACE_"

// Environment is the kind of deployment.
type Environment string

// The environments.
const (
	Production  Environment = "production"
	Development Environment = "development"
)

// Command is the process that the settings are for: not every one needs them all.
type Command string

// The commands that read settings.
const (
	Serve   Command = "serve"
	Worker  Command = "worker"
	Migrate Command = "migrate"
	Codec   Command = "codec"
	Admin   Command = "admin"
	// RetryPayout is the one admin command that reaches for Temporal too.
	RetryPayout Command = "admin-payouts-retry"
)

// Config is every setting. The tags of a field: env is the variable's name after
// the prefixes, envDefault its default, needed the commands that refuse to start
// without it, doc its documentation.
type Config struct {
	Process   Process      `section:"Process"`
	HTTP      HTTP         `section:"HTTP server"`
	Database  Database     `section:"Postgres" envPrefix:"DATABASE_"`
	Temporal  Temporal     `section:"Temporal" envPrefix:"TEMPORAL_"`
	Tasks     TaskHandling `section:"Worker"`
	Seal      Seal         `section:"Encryption"`
	S3        S3           `section:"Object storage" envPrefix:"S3_"`
	Rules     Rules        `section:"Rules of the marketplace"`
	RateLimit RateLimit    `section:"Rate limits"`
}

// Process holds what concerns every process.
type Process struct {
	Env             Environment   `env:"ENV" envDefault:"production" doc:"production or development. Development writes readable logs by default and accepts plain http URLs."`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"INFO" doc:"DEBUG, INFO, WARN or ERROR."`
	LogFormat       string        `env:"LOG_FORMAT" doc:"json or text. Default: json in production, text in development."`
	MetricsAddr     string        `env:"METRICS_ADDR" doc:"Address of a listener of its own for /metrics (and /healthz), such as 127.0.0.1:9090. Without it the API server answers /metrics beside the API, and the worker has no metrics listener."`
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"25s" doc:"How long a process that was told to stop may take until it ends. Keep it below the orchestrator's kill timeout."`
}

// HTTP holds the API server's settings.
type HTTP struct {
	ListenAddr     string        `env:"LISTEN_ADDR" envDefault:":8080" doc:"Address the API listens on."`
	PublicURL      string        `env:"PUBLIC_URL" needed:"serve worker" doc:"The URL under which agents reach the API, without a trailing slash. Links in answers begin with it."`
	TrustedProxies Networks      `env:"TRUSTED_PROXIES" doc:"Networks (CIDR, comma separated) of the proxies in front of the API. X-Forwarded-For is believed from these alone; rate limits count the address found there."`
	DrainDelay     time.Duration `env:"DRAIN_DELAY" envDefault:"5s" doc:"How long a stopping API server goes on answering after it has turned unready, so that load balancers notice before it refuses connections. Part of SHUTDOWN_TIMEOUT."`
	UpdateWait     time.Duration `env:"UPDATE_WAIT" envDefault:"5s" doc:"How long a request waits for its workflow's answer before it returns the record as it stands."`
}

// Database holds the settings of Postgres.
type Database struct {
	URL      Secret `env:"URL" needed:"serve worker migrate admin admin-payouts-retry" doc:"Postgres connection URL, such as postgres://user:password@host:5432/marketplace?sslmode=verify-full."`
	MaxConns int32  `env:"MAX_CONNS" envDefault:"20" doc:"Most connections one process holds. The sum over all processes must stay below Postgres's max_connections."`
}

// Temporal holds the settings of the Temporal client.
type Temporal struct {
	Address       string `env:"ADDRESS" needed:"serve worker admin-payouts-retry" doc:"Temporal's gRPC address, such as temporal:7233."`
	Namespace     string `env:"NAMESPACE" envDefault:"default" doc:"Temporal namespace; its search attributes must exist (docs/operating.md)."`
	TLS           bool   `env:"TLS" envDefault:"false" doc:"Connect with TLS. Implied by an API key or a client certificate."`
	TLSCertFile   string `env:"TLS_CERT_FILE" doc:"Client certificate (PEM file), for mutual TLS."`
	TLSKeyFile    string `env:"TLS_KEY_FILE" doc:"The client certificate's key (PEM file)."`
	TLSCAFile     string `env:"TLS_CA_FILE" doc:"Certificate authorities to trust (PEM file) instead of the system's."`
	TLSServerName string `env:"TLS_SERVER_NAME" doc:"Name to expect in the server's certificate, where it is not the address's."`
	APIKey        Secret `env:"API_KEY" doc:"API key, for Temporal Cloud."`
	UIURL         string `env:"UI_URL" doc:"URL of the Temporal Web UI; command line tools print links into it."`
}

// TaskHandling holds the settings of the worker.
type TaskHandling struct {
	TaskQueue      string        `env:"TASK_QUEUE" envDefault:"marketplace" doc:"Name of the task queue. The API and the workers of a deployment must agree on it."`
	Activities     int           `env:"WORKER_ACTIVITIES" envDefault:"100" doc:"Most activities one worker process runs at once."`
	WorkflowTasks  int           `env:"WORKER_WORKFLOW_TASKS" envDefault:"50" doc:"Most workflow tasks one worker process handles at once."`
	StopTimeout    time.Duration `env:"WORKER_STOP_TIMEOUT" envDefault:"20s" doc:"How long a stopping worker waits for activities under way; it must be shorter than SHUTDOWN_TIMEOUT."`
	DeploymentName string        `env:"WORKER_DEPLOYMENT_NAME" doc:"Name of the worker deployment. Set it together with WORKER_BUILD_ID to turn worker versioning on."`
	BuildID        string        `env:"WORKER_BUILD_ID" doc:"Version of this worker's code within the deployment."`
}

// Seal holds the settings of encryption at rest and of the payload codec.
type Seal struct {
	Keyset              Secret   `env:"SEAL_KEYSET" needed:"serve worker codec admin-payouts-retry" doc:"Keys that seal tokens and workflow payloads; make one with «marketplace admin keyset new». Losing it means losing what it sealed."`
	CodecAddr           string   `env:"CODEC_ADDR" envDefault:"127.0.0.1:8088" doc:"Address that «marketplace codec» listens on. Whoever reaches it reads every payload: keep it on loopback or behind the operators' sign-in."`
	CodecAllowedOrigins []string `env:"CODEC_ALLOWED_ORIGINS" needed:"codec" doc:"Origins (comma separated) of the Temporal Web UIs that may ask the codec, such as https://temporal.example.com."`
}

// S3 holds the settings of object storage.
type S3 struct {
	Endpoint       string `env:"ENDPOINT" needed:"serve worker" doc:"URL of the S3 service, such as https://s3.eu-central-1.amazonaws.com."`
	PublicEndpoint string `env:"PUBLIC_ENDPOINT" doc:"URL under which agents reach the S3 service, where that is another one: download links begin with it."`
	Region         string `env:"REGION" envDefault:"us-east-1" doc:"Region of the bucket."`
	Bucket         string `env:"BUCKET" needed:"serve worker" doc:"Bucket that holds course bundles. It must exist and be private."`
	AccessKey      Secret `env:"ACCESS_KEY" needed:"serve worker" doc:"Access key id."`
	SecretKey      Secret `env:"SECRET_KEY" needed:"serve worker" doc:"The access key's secret."`
	PathStyle      bool   `env:"PATH_STYLE" envDefault:"false" doc:"Address the bucket in the path instead of the host name, as most services other than AWS want it."`
}

// Rules holds what a marketplace decides for itself.
type Rules struct {
	FeeBasisPoints          int           `env:"FEE_BASIS_POINTS" envDefault:"1000" doc:"The marketplace's share of payouts and purchases in hundredths of a percent: 1000 is 10 %."`
	BountyGrace             time.Duration `env:"BOUNTY_GRACE" envDefault:"336h" doc:"How long after its deadline a bounty without an accepted submission waits before it expires and its escrow goes back."`
	HoldRecheck             time.Duration `env:"HOLD_RECHECK" envDefault:"1m" doc:"How often a held payout looks whether its recipient is active again."`
	PayoutMaxAttempts       int32         `env:"PAYOUT_MAX_ATTEMPTS" envDefault:"8" doc:"How often a settlement is tried, with growing pauses, before the payout fails and waits for support."`
	ReviewBundleURLLifetime time.Duration `env:"REVIEW_BUNDLE_URL_LIFETIME" envDefault:"15m" doc:"How long the single-use links to a bundle under review work."`
}

// RateLimit holds how much one caller may ask for.
type RateLimit struct {
	SignupsPerHour            int `env:"SIGNUPS_PER_HOUR" envDefault:"20" doc:"Signups per hour and address."`
	PasswordChecksPer15Min    int `env:"PASSWORD_CHECKS_PER_15_MINUTES" envDefault:"10" doc:"Password checks per 15 minutes, right or wrong, per user and per address."`
	DeviceBeginsPerHour       int `env:"DEVICE_BEGINS_PER_HOUR" envDefault:"5" doc:"Device authorizations begun per hour and agent."`
	ReferralsPerCodePerDay    int `env:"REFERRALS_PER_CODE_PER_DAY" envDefault:"50" doc:"Referred signups per day and referral code; more are refused as abusive."`
	ReferralsPerAddressPerDay int `env:"REFERRALS_PER_ADDRESS_PER_DAY" envDefault:"5" doc:"Referred signups per day and address; more are refused as abusive."`
	Multiplier                int `env:"RATE_LIMIT_MULTIPLIER" envDefault:"1" doc:"Multiplies all of the above. «marketplace dev» sets 100."`
}
