package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultGrace = 10 * time.Second
	// pipeGrace bounds the wait for echoed output once a child has ended.
	pipeGrace = 2 * time.Second
	// crashLines is how much of a part's log an error about it quotes.
	crashLines = 15
)

// Command describes a child process for a Stack to run.
type Command struct {
	// Name is used in progress lines, in errors and as the log file's name.
	Name string
	// Argv is the program and its arguments.
	Argv []string
	// Env is added to this process's environment.
	Env []string
	// Dir is the working directory; empty means this process's.
	Dir string
	// Ready blocks until the child can serve, or returns an error. Nil means
	// that it is ready once started. Its context ends when the child does.
	Ready func(context.Context) error
	// Echo copies the child's output, line by line with the name in front, to
	// Options.Output. It goes to the log file in any case.
	Echo bool
	// Grace is how long the child may take to end after it was asked to;
	// 0 means 10 s. Then it is killed.
	Grace time.Duration

	credential *syscall.Credential // run as this user
	stop       syscall.Signal      // asks it to end; default SIGTERM
	kill       syscall.Signal      // ends it at once; default SIGKILL
}

// process is one run of a Command.
type process struct {
	command Command
	logPath string
	exec    *exec.Cmd
	exited  chan struct{} // closed once the child has been waited for
	err     error         // how it ended; read only after exited
	// expected means that its end is wanted and no crash; guarded by Stack.mu.
	expected bool
}

// startProcess starts the command with its output going to a log file in logDir,
// and to echo where the command says so.
func startProcess(command Command, logDir string, echo io.Writer) (*process, error) {
	command.setDefaults()
	p := &process{command: command, logPath: filepath.Join(logDir, command.Name+".log"), exited: make(chan struct{})}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p.exec = exec.Command(command.Argv[0], command.Argv[1:]...)
	p.exec.Env = append(os.Environ(), command.Env...)
	p.exec.Dir = command.Dir
	p.exec.WaitDelay = pipeGrace
	// Its own process group: Ctrl-C in a terminal then reaches this process
	// alone, which ends the children in order.
	p.exec.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: command.credential}
	endWithParent(p.exec.SysProcAttr, command.kill)
	var output io.Writer = log
	if command.Echo {
		output = io.MultiWriter(log, &prefixWriter{prefix: fmt.Sprintf("%-12s ", command.Name), out: echo})
	}
	p.exec.Stdout, p.exec.Stderr = output, output
	if err := startLasting(p.exec); err != nil {
		log.Close()
		return nil, fmt.Errorf("%s: %w", command.Name, err)
	}
	go p.wait(log)
	return p, nil
}

func (c *Command) setDefaults() {
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.stop == 0 {
		c.stop = syscall.SIGTERM
	}
	if c.kill == 0 {
		c.kill = syscall.SIGKILL
	}
}

func (p *process) wait(log io.Closer) {
	p.err = p.exec.Wait()
	log.Close()
	close(p.exited)
}

// awaitReady waits for the command's Ready. It returns an error that quotes the
// log where the child ends first.
func (p *process) awaitReady(ctx context.Context) error {
	if p.command.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := p.command.Ready(ctx)
	select {
	case <-p.exited:
		return p.crashError()
	default:
	}
	if err != nil {
		return fmt.Errorf("%s did not become ready: %w%s", p.command.Name, err, p.quoteLog())
	}
	return nil
}

// end asks the child to end, and kills it and its process group when it takes
// longer than its grace. It returns once the child is gone.
func (p *process) end() {
	p.signal(p.command.stop)
	select {
	case <-p.exited:
	case <-time.After(p.command.Grace):
		p.killNow()
	}
}

// killNow ends the child without letting it finish anything.
func (p *process) killNow() {
	p.signal(p.command.kill)
	select {
	case <-p.exited:
		return
	case <-time.After(p.command.Grace):
	}
	// Not reaped yet, so the group id is still the child's own.
	_ = syscall.Kill(-p.exec.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

func (p *process) signal(s syscall.Signal) {
	// An error means that it has ended already, which is what is wanted.
	_ = p.exec.Process.Signal(s)
}

// CrashError is the unexpected end of a part.
type CrashError struct {
	Part    string
	Err     error  // how it ended; nil for exit status 0
	LastLog string // the last lines of its log
	LogPath string
}

func (e *CrashError) Error() string {
	how := "exit status 0"
	if e.Err != nil {
		how = e.Err.Error()
	}
	return fmt.Sprintf("%s ended unexpectedly (%s); the end of %s:\n%s", e.Part, how, e.LogPath, e.LastLog)
}

func (e *CrashError) Unwrap() error { return e.Err }

func (p *process) crashError() error {
	return &CrashError{Part: p.command.Name, Err: p.err, LastLog: lastLines(p.logPath, crashLines), LogPath: p.logPath}
}

func (p *process) quoteLog() string {
	lines := lastLines(p.logPath, crashLines)
	if lines == "" {
		return ""
	}
	return fmt.Sprintf("; the end of %s:\n%s", p.logPath, lines)
}

// lastLines returns the last n lines of a file, indented to stand out.
func lastLines(path string, n int) string {
	const enough = 16 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-enough), io.SeekStart)
	}
	content, _ := io.ReadAll(f)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "    " + strings.Join(lines, "\n    ")
}

// spawner runs functions one after the other on an OS thread that never ends.
var spawner = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// startLasting starts cmd from a thread that lives as long as this process. The
// parent-death signal of prctl(2) is sent when the *thread* that forked ends, and
// Go may end a thread at any time when a locked goroutine returns.
func startLasting(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	spawner() <- func() { started <- cmd.Start() }
	return <-started
}

// runToEnd runs a short command and returns an error that quotes its output
// where it fails.
func runToEnd(cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	endWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	err := startLasting(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(output.String()))
	}
	return err
}

// prefixWriter writes whole lines, each with a prefix.
type prefixWriter struct {
	prefix  string
	out     io.Writer
	partial []byte
}

func (w *prefixWriter) Write(b []byte) (int, error) {
	w.partial = append(w.partial, b...)
	for {
		line, rest, found := bytes.Cut(w.partial, []byte("\n"))
		if !found {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(w.out, "%s%s\n", w.prefix, line); err != nil {
			return 0, err
		}
		w.partial = rest
	}
}

// poll calls attempt until it succeeds, fails for good (errPermanent) or the
// context ends; the last failure is then part of the error.
func poll(ctx context.Context, attempt func(context.Context) error) error {
	const pause = 25 * time.Millisecond
	for {
		err := attempt(ctx)
		var permanent *permanentError
		if err == nil || errors.As(err, &permanent) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last answer: %w)", context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// permanentError is a failure that waiting does not cure.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }
