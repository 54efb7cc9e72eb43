package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"
)

// FileSuffix on the name of a secret's variable says that the value is the path of
// a file that holds the secret, as container platforms mount them.
const FileSuffix = "_FILE"

// Load reads the settings for a command from the environment. The error names
// every variable that is missing or wrong, one per line.
func Load(command Command) (*Config, error) {
	return Parse(command, env.ToMap(os.Environ()))
}

// Parse is Load with the environment given as a map.
func Parse(command Command, environ map[string]string) (*Config, error) {
	cfg := new(Config)
	environ, problems := withSecretFiles(environ)
	err := env.ParseWithOptions(cfg, env.Options{Environment: environ, Prefix: Prefix})
	if err != nil {
		problems = append(problems, parseProblems(err)...)
	} else {
		cfg.deriveDefaults()
		problems = append(problems, missing(command, environ)...)
		problems = append(problems, cfg.problems()...)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("configuration: %w", errors.Join(problems...))
	}
	return cfg, nil
}

func (c *Config) deriveDefaults() {
	if c.Process.LogFormat == "" {
		c.Process.LogFormat = "json"
		if c.Process.Env == Development {
			c.Process.LogFormat = "text"
		}
	}
	c.HTTP.PublicURL = strings.TrimRight(c.HTTP.PublicURL, "/")
}

// withSecretFiles returns the environment with the contents of every secret that
// is given as a file.
func withSecretFiles(environ map[string]string) (map[string]string, []error) {
	merged := make(map[string]string, len(environ))
	for key, value := range environ {
		merged[key] = value
	}
	var problems []error
	for _, s := range Settings() {
		path := environ[s.Variable+FileSuffix]
		if !s.Secret || path == "" {
			continue
		}
		if environ[s.Variable] != "" {
			problems = append(problems, fmt.Errorf("%s and %s%s: set one of the two", s.Variable, s.Variable, FileSuffix))
			continue
		}
		content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
		if err != nil {
			problems = append(problems, fmt.Errorf("%s%s: %w", s.Variable, FileSuffix, err))
			continue
		}
		merged[s.Variable] = strings.TrimSpace(string(content))
	}
	return merged, problems
}

// parseProblems names the variables: the library names the struct's fields.
func parseProblems(err error) []error {
	variables := map[string]string{}
	for _, s := range Settings() {
		variables[s.field] = s.Variable
	}
	var all env.AggregateError
	if !errors.As(err, &all) {
		return []error{err}
	}
	problems := make([]error, 0, len(all.Errors))
	for _, e := range all.Errors {
		var p env.ParseError
		if errors.As(e, &p) {
			e = fmt.Errorf("%s: %w", variables[p.Name], p.Err)
		}
		problems = append(problems, e)
	}
	return problems
}

func missing(command Command, environ map[string]string) []error {
	var problems []error
	for _, s := range Settings() {
		if s.NeededBy(command) && strings.TrimSpace(environ[s.Variable]) == "" {
			problems = append(problems, fmt.Errorf("%s is not set: %s", s.Variable, s.Doc))
		}
	}
	return problems
}
