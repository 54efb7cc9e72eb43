package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// complete is an environment that every command starts with.
func complete(changes map[string]string) map[string]string {
	environ := map[string]string{
		"MARKETPLACE_DATABASE_URL":          "postgres://app:hunter2@db/marketplace",
		"MARKETPLACE_TEMPORAL_ADDRESS":      "temporal:7233",
		"MARKETPLACE_PUBLIC_URL":            "https://market.example.com/",
		"MARKETPLACE_SEAL_KEYSET":           "a2V5c2V0",
		"MARKETPLACE_S3_ENDPOINT":           "https://s3.example.com",
		"MARKETPLACE_S3_BUCKET":             "bundles",
		"MARKETPLACE_S3_ACCESS_KEY":         "AKEXAMPLE",
		"MARKETPLACE_S3_SECRET_KEY":         "s3cret",
		"MARKETPLACE_CODEC_ALLOWED_ORIGINS": "https://temporal.example.com",
	}
	for name, value := range changes {
		environ["MARKETPLACE_"+name] = value
	}
	return environ
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Parse(Serve, complete(map[string]string{"TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.7"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"production":                 cfg.Process.Env == Production,
		"json logs":                  cfg.Process.LogFormat == "json" && cfg.Process.LogLevel == slog.LevelInfo,
		"fee":                        cfg.Rules.FeeBasisPoints == 1000,
		"grace of 14 days":           cfg.Rules.BountyGrace == 14*24*time.Hour,
		"signups":                    cfg.RateLimit.SignupsPerHour == 20,
		"public URL without a slash": cfg.HTTP.PublicURL == "https://market.example.com",
		"a lone address is a prefix": len(cfg.HTTP.TrustedProxies) == 2 && cfg.HTTP.TrustedProxies[1].Bits() == 32,
		"no TLS to Temporal":         !cfg.Temporal.UsesTLS(),
	} {
		if !ok {
			t.Errorf("%s: %+v", name, cfg)
		}
	}
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command Command
		environ map[string]string
		want    []string
	}{
		"nothing set": {Serve, nil, []string{
			"MARKETPLACE_DATABASE_URL is not set", "MARKETPLACE_TEMPORAL_ADDRESS is not set", "MARKETPLACE_PUBLIC_URL is not set",
			"MARKETPLACE_SEAL_KEYSET is not set", "MARKETPLACE_S3_ENDPOINT is not set", "MARKETPLACE_S3_BUCKET is not set",
			"MARKETPLACE_S3_ACCESS_KEY is not set", "MARKETPLACE_S3_SECRET_KEY is not set",
		}},
		"migrate needs the database alone": {Migrate, nil, []string{"MARKETPLACE_DATABASE_URL is not set"}},
		"not of the type": {Serve, complete(map[string]string{"DATABASE_MAX_CONNS": "many", "UPDATE_WAIT": "5", "TEMPORAL_TLS": "perhaps"}), []string{
			"MARKETPLACE_DATABASE_MAX_CONNS: ", "MARKETPLACE_UPDATE_WAIT: ", "MARKETPLACE_TEMPORAL_TLS: ",
		}},
		"out of range": {Serve, complete(map[string]string{"FEE_BASIS_POINTS": "10001", "LOG_FORMAT": "xml", "ENV": "test", "TRUSTED_PROXIES": ""}), []string{
			"MARKETPLACE_FEE_BASIS_POINTS must be from 0 to 10000", `MARKETPLACE_LOG_FORMAT must be json or text, not "xml"`,
			`MARKETPLACE_ENV must be production or development, not "test"`,
		}},
		"not a network":              {Serve, complete(map[string]string{"TRUSTED_PROXIES": "proxy"}), []string{"MARKETPLACE_TRUSTED_PROXIES"}},
		"clear text in production":   {Serve, complete(map[string]string{"PUBLIC_URL": "http://market.example.com"}), []string{"MARKETPLACE_PUBLIC_URL must be https"}},
		"one half of a pair":         {Worker, complete(map[string]string{"WORKER_BUILD_ID": "7", "TEMPORAL_TLS_KEY_FILE": "k"}), []string{"MARKETPLACE_WORKER_DEPLOYMENT_NAME", "MARKETPLACE_TEMPORAL_TLS_CERT_FILE"}},
		"worker stops too late":      {Worker, complete(map[string]string{"WORKER_STOP_TIMEOUT": "25s"}), []string{"MARKETPLACE_WORKER_STOP_TIMEOUT must be positive and shorter than MARKETPLACE_SHUTDOWN_TIMEOUT (25s)"}},
		"an origin has no path":      {Codec, complete(map[string]string{"CODEC_ALLOWED_ORIGINS": "https://temporal.example.com/ui"}), []string{"MARKETPLACE_CODEC_ALLOWED_ORIGINS"}},
		"secret file does not exist": {Serve, complete(map[string]string{"TEMPORAL_API_KEY_FILE": "/nonexistent"}), []string{"MARKETPLACE_TEMPORAL_API_KEY_FILE: open /nonexistent"}},
		"secret and its file":        {Serve, complete(map[string]string{"SEAL_KEYSET_FILE": "/nonexistent"}), []string{"MARKETPLACE_SEAL_KEYSET and MARKETPLACE_SEAL_KEYSET_FILE: set one of the two"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tt.command, tt.environ)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(tt.want) {
				t.Errorf("%d problems, want %d:\n%v", got, len(tt.want), err)
			}
		})
	}
}

func TestSecretsComeFromFilesAndAreNeverPrinted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "database-url")
	if err := os.WriteFile(path, []byte("postgres://app:hunter2@db/marketplace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse(Migrate, map[string]string{"MARKETPLACE_DATABASE_URL_FILE": path})
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Database.URL.Reveal(); got != "postgres://app:hunter2@db/marketplace" {
		t.Errorf("read %q", got)
	}
	encoded, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("configuration", "config", cfg, "url", cfg.Database.URL)
	printed := fmt.Sprintf("%v %+v %#v %s %q %x", *cfg, cfg, cfg.Database, cfg.Database.URL, cfg.Database.URL, cfg.Database.URL)
	for _, text := range []string{string(encoded), logged.String(), printed} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the password is in %s", text)
		}
		if !strings.Contains(text, redacted) {
			t.Errorf("no %s in %s", redacted, text)
		}
	}
}

// The errors of values that cannot be parsed carry the field's name alone, so no
// two fields may share one.
func TestSettingsAreDeclaredWhole(t *testing.T) {
	t.Parallel()
	fields, variables := map[string]bool{}, map[string]bool{}
	for _, s := range Settings() {
		if s.Doc == "" || s.Section == "" || s.Variable == Prefix {
			t.Errorf("%+v is not documented", s)
		}
		if fields[s.field] || variables[s.Variable] {
			t.Errorf("%s (%s) is declared twice", s.Variable, s.field)
		}
		fields[s.field], variables[s.Variable] = true, true
	}
}
