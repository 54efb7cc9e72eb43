package devstack

import (
	"context"
	"errors"
	"fmt"
)

var errStopping = errors.New("the stack is stopping")

// Run starts a command as a further part of the stack and returns once it is
// ready. From then on its end is a crash of the stack, unless Stop or Kill ended
// it. Parts end in the opposite order of their start.
func (s *Stack) Run(ctx context.Context, command Command) error {
	end := s.progress.step(command.Name, "starting")
	p, err := s.add(command)
	if err != nil {
		end("")
		return err
	}
	if err := s.awaitReady(ctx, p.process); err != nil {
		end("")
		return err
	}
	go s.watch(p.process)
	end("ready")
	return nil
}

func (s *Stack) add(command Command) (*part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, errStopping
	}
	process, err := startProcess(command, s.logDir(), s.progress)
	if err != nil {
		return nil, err
	}
	p := &part{command: command, process: process}
	s.parts = append(s.parts, p)
	return p, nil
}

func (s *Stack) awaitReady(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	return p.awaitReady(ctx)
}

// Kill ends a part without letting it finish anything, as a fault would, and
// returns when it is gone: SIGKILL, and for Postgres the immediate shutdown. The
// stack does not take it for a crash. Restart brings the part back.
func (s *Stack) Kill(name string) error {
	_, process, err := s.expectEnd(name)
	if err != nil {
		return err
	}
	process.killNow()
	return nil
}

// Restart ends a part in good order, if it still runs, starts it again on the
// same port and data and returns once it is ready.
func (s *Stack) Restart(ctx context.Context, name string) error {
	p, process, err := s.expectEnd(name)
	if err != nil {
		return err
	}
	process.end()
	if process, err = s.replace(p); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, process); err != nil {
		return err
	}
	go s.watch(process)
	return nil
}

// PID returns the process id of a part, 0 where there is no such part.
func (s *Stack) PID(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(name); p != nil {
		return p.process.exec.Process.Pid
	}
	return 0
}

func (s *Stack) expectEnd(name string) (*part, *process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(name)
	if p == nil {
		return nil, nil, fmt.Errorf("the stack has no part %q", name)
	}
	p.process.expected = true
	return p, p.process, nil
}

func (s *Stack) replace(p *part) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, errStopping
	}
	process, err := startProcess(p.command, s.logDir(), s.progress)
	if err != nil {
		return nil, err
	}
	p.process = process
	return process, nil
}

// find returns the part of that name, or nil. s.mu is held.
func (s *Stack) find(name string) *part {
	for _, p := range s.parts {
		if p.command.Name == name {
			return p
		}
	}
	return nil
}

// RunOnce runs a command to its end, and returns an error that quotes its output
// where it fails.
func (s *Stack) RunOnce(ctx context.Context, command Command) error {
	end := s.progress.step(command.Name, "running")
	p, err := startProcess(command, s.logDir(), s.progress)
	if err != nil {
		end("")
		return err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.end()
	}
	if p.err != nil {
		end("")
		return errors.Join(ctx.Err(), p.crashError())
	}
	end("done")
	return nil
}

// watch reports the end of a process unless it was wanted.
func (s *Stack) watch(watched *process) {
	<-watched.exited
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || watched.expected || s.failure != nil {
		return
	}
	s.failure = watched.crashError()
	close(s.failed)
}
