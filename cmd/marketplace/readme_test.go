package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

// TestTheTourOfTheReadme runs the README's commands as they stand, in one shell, and
// looks for the answers that it shows.
func TestTheTourOfTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(string(readme))
	if len(steps) < 10 {
		t.Fatalf("only %d blocks of commands in the README", len(steps))
	}
	dir := stacktest.Dir(t)
	startDev(t, filepath.Join(dir, ".dev"))
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "marketplace")); err != nil {
		t.Fatal(err)
	}
	for i, said := range runTour(t, dir, steps) {
		checkAnswer(t, steps[i], said)
	}
}

// tourStep is a block of commands and what the README says that they answer.
type tourStep struct{ commands, answer string }

var fenced = regexp.MustCompile("(?s)```([a-z]*)\n(.*?\n)```\n")

func stepsOf(readme string) []tourStep {
	var steps []tourStep
	for _, block := range fenced.FindAllStringSubmatch(readme, -1) {
		switch language, text := block[1], block[2]; {
		case language == "sh":
			steps = append(steps, tourStep{commands: text})
		case language != "" && len(steps) > 0:
			steps[len(steps)-1].answer = text
		}
	}
	return steps
}

// endOfStep is a line that nothing else prints.
const endOfStep = "=== the step has ended ==="

// runTour returns what each step printed.
func runTour(t *testing.T, dir string, steps []tourStep) []string {
	t.Helper()
	var script strings.Builder
	for _, s := range steps {
		script.WriteString(s.commands + "echo '" + endOfStep + "'\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-eu", "-c", script.String())
	shell.Dir = dir
	shell.WaitDelay = time.Second
	output, err := shell.CombinedOutput()
	said := strings.Split(string(output), endOfStep+"\n")
	if err != nil {
		t.Fatalf("step %d of the tour: %v\n%s", len(said), err, output)
	}
	return said[:len(steps)]
}

// checkAnswer looks for the parts of the shown answer that stand between ellipses, in
// their order.
func checkAnswer(t *testing.T, s tourStep, said string) {
	t.Helper()
	rest := said
	for part := range strings.SplitSeq(s.answer, "…") {
		_, after, found := strings.Cut(rest, strings.TrimSpace(part))
		if !found {
			t.Errorf("the README shows %q next, but these commands\n%s\nanswered\n%s", part, s.commands, said)
			return
		}
		rest = after
	}
}
