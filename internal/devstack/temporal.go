package devstack

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// Namespace is the Temporal namespace that the dev server makes at its start.
const Namespace = "default"

// SearchAttributes are the names, all of type Keyword, by which operators find
// workflows in the Temporal UI. A cluster of one's own needs them registered.
var SearchAttributes = []string{"MarketplaceStatus", "BountyId", "CourseId", "AgentId", "FailureReason"}

var temporalTool = tool{name: "temporal", estimate: "3 to 4 minutes"}

// temporalTuning are dynamic configuration values. By default the single shard
// looks into its queues 20 times a second, which costs each workflow step 50 ms;
// and a task queue has 4 partitions, which one process has no use for.
var temporalTuning = []string{
	"history.transferProcessorMaxPollRPS=2000",
	"history.timerProcessorMaxPollRPS=2000",
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
}

func (s *Stack) temporalDatabase() string { return filepath.Join(s.dir, "temporal", "temporal.db") }

func (s *Stack) temporalCommand(ctx context.Context) (Command, error) {
	program, err := findTool(ctx, temporalTool, s.progress)
	if err != nil {
		return Command{}, err
	}
	if err := os.MkdirAll(filepath.Dir(s.temporalDatabase()), 0o700); err != nil {
		return Command{}, err
	}
	argv := []string{
		program, "server", "start-dev",
		"--disable-config-file", "--disable-config-env", "--color", "never", "--log-level", "warn",
		"--ip", "127.0.0.1",
		"--port", strconv.Itoa(s.Ports.Temporal),
		"--ui-port", strconv.Itoa(s.Ports.TemporalUI),
		"--http-port", strconv.Itoa(s.Ports.TemporalHTTP),
		"--metrics-port", strconv.Itoa(s.Ports.TemporalMetrics),
		"--ui-codec-endpoint", s.CodecURL,
		"--db-filename", s.temporalDatabase(),
		// A write-ahead log that is synced at checkpoints: killed at any moment,
		// it loses nothing as long as the machine itself stays up.
		"--sqlite-pragma", "journal_mode=wal",
		"--sqlite-pragma", "synchronous=1",
	}
	for _, name := range SearchAttributes {
		argv = append(argv, "--search-attribute", name+"=Keyword")
	}
	for _, value := range temporalTuning {
		argv = append(argv, "--dynamic-config-value", value)
	}
	return Command{Name: PartTemporal, Argv: argv, Grace: 5 * time.Second, Ready: s.temporalReady}, nil
}

// temporalReady waits until the server is healthy, the namespace can be described
// and the Web UI answers.
func (s *Stack) temporalReady(ctx context.Context) error {
	conn, err := grpc.NewClient(s.TemporalAddress, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := poll(ctx, func(ctx context.Context) error { return temporalServes(ctx, conn) }); err != nil {
		return err
	}
	return HTTPReady(s.TemporalUIURL)(ctx)
}

func temporalServes(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn.Connect() // at once, not after the back-off of an earlier failure
	conn.ResetConnectBackoff()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: "temporal.api.workflowservice.v1.WorkflowService"})
	if err != nil {
		return err
	}
	if answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("health is %s", answer.GetStatus())
	}
	_, err = workflowservice.NewWorkflowServiceClient(conn).DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
	return err
}

// HTTPReady returns a Command.Ready that waits until url answers with a 2xx.
func HTTPReady(url string) func(context.Context) error {
	client := &http.Client{Timeout: 2 * time.Second}
	return func(ctx context.Context) error {
		return poll(ctx, func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return &permanentError{err}
			}
			answer, err := client.Do(request)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode/100 != 2 {
				return fmt.Errorf("%s answers %s", url, answer.Status)
			}
			return nil
		})
	}
}
