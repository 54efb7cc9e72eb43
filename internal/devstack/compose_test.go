package devstack_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/devstack"
)

// composeSecrets are the variables that docker-compose.yml insists on.
var composeSecrets = []string{
	"POSTGRES_PASSWORD=hunter2",
	"S3_SECRET_KEY=hunter22",
	"MARKETPLACE_SEAL_KEYSET=a keyset",
}

// TestComposeFile reads docker-compose.yml as Docker does, and starts every process
// of the product far enough to judge its settings.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	project := composeProject(t, composeSecrets)
	known := map[string]bool{}
	for _, setting := range config.Settings() {
		known[setting.Variable] = true
	}
	commands := map[string]bool{}
	for _, service := range project.Services {
		if service.Build == nil {
			if name, tag, pinned := strings.Cut(service.Image, ":"); !pinned || tag == "latest" {
				t.Errorf("%s: image %s has no version", service.Name, name)
			}
			continue
		}
		command := service.Command[0]
		commands[command] = true
		environment := map[string]string{}
		for name, value := range service.Environment {
			if !known[name] {
				t.Errorf("%s: %s is no setting of the service", service.Name, name)
			}
			environment[name] = *value
		}
		if _, err := config.Parse(config.Command(command), environment); err != nil {
			t.Errorf("%s refuses its settings: %v", service.Name, err)
		}
	}
	for _, command := range []string{"migrate", "serve", "worker", "codec"} {
		if !commands[command] {
			t.Errorf("no service runs «marketplace %s»", command)
		}
	}
}

// TestComposePorts sees that nothing is published beyond the machine.
func TestComposePorts(t *testing.T) {
	t.Parallel()
	for _, service := range composeProject(t, composeSecrets).Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on every interface", service.Name, port.Published)
			}
		}
	}
}

func TestComposeRegistersSearchAttributes(t *testing.T) {
	t.Parallel()
	setup := strings.Join(composeProject(t, composeSecrets).Services["temporal-namespace"].Command, "\n")
	if want := "for name in " + strings.Join(devstack.SearchAttributes, " ") + ";"; !strings.Contains(setup, want) {
		t.Errorf("temporal-namespace does not register the search attributes:\n%s\nwant %s", setup, want)
	}
}

// TestComposeSecrets leaves each secret out once: none may have a default.
func TestComposeSecrets(t *testing.T) {
	t.Parallel()
	for i, secret := range composeSecrets {
		name, _, _ := strings.Cut(secret, "=")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others []string
			others = append(append(others, composeSecrets[:i]...), composeSecrets[i+1:]...)
			if _, err := loadCompose(t, others); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("without %s: %v; want an error that names it", name, err)
			}
		})
	}
}

// TestEnviron has every process of the product accept the stack's settings.
func TestEnviron(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"MARKETPLACE_SEAL_KEYSET": "a keyset"}
	endpoints := devstack.Endpoints{
		DatabaseURL: "postgres://marketplace:x@127.0.0.1:7601/marketplace", TemporalAddress: "127.0.0.1:7602", Namespace: "default",
		TemporalUIURL: "http://127.0.0.1:7603", S3: devstack.S3{Endpoint: "http://127.0.0.1:7604", Region: "r", AccessKey: "a", SecretKey: "s", Bucket: "bucket"},
		Ports: devstack.Ports{API: 7600, TemporalUI: 7603, Codec: 7606},
	}
	for _, variable := range endpoints.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		environment[name] = value
	}
	known := map[string]bool{}
	for _, setting := range config.Settings() {
		known[setting.Variable] = true
	}
	for name := range maps.Keys(environment) {
		if !known[name] {
			t.Errorf("%s is no setting of the service", name)
		}
	}
	for _, command := range []config.Command{config.Serve, config.Worker, config.Migrate, config.Codec, config.Admin} {
		if _, err := config.Parse(command, environment); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func composeProject(t *testing.T, environ []string) *types.Project {
	t.Helper()
	project, err := loadCompose(t, environ)
	if err != nil {
		t.Fatalf("docker-compose.yml: %v", err)
	}
	return project
}

func loadCompose(t *testing.T, environ []string) (*types.Project, error) {
	t.Helper()
	root, err := devstack.SourceDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docker-compose.yml")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	options, err := cli.NewProjectOptions([]string{path}, cli.WithEnv(environ), cli.WithoutEnvironmentResolution)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		return nil, err
	}
	return project.WithServicesEnvironmentResolved(true)
}
