package api

import (
	"context"
	"sync"
)

// turns lets one request at a time speak to a workflow. Temporal holds back all but
// some ten concurrent updates of one workflow for seconds; requests that line up here
// are answered in milliseconds, most of them by what the first one has changed.
// The zero value is ready for use. It is a courtesy within this process: whatever
// arrives by other ways is still decided in the database.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is who waits for a workflow and who speaks to it.
type line struct {
	speaking chan struct{}
	members  int
}

// take waits for the turn to speak to the workflow, until ctx ends. The turn lasts
// until leave is called.
func (t *turns) take(ctx context.Context, workflowID string) (leave func(), err error) {
	l := t.join(workflowID)
	select {
	case l.speaking <- struct{}{}:
		return func() {
			<-l.speaking
			t.part(workflowID, l)
		}, nil
	case <-ctx.Done():
		t.part(workflowID, l)
		return nil, ctx.Err()
	}
}

func (t *turns) join(workflowID string) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.lines[workflowID]
	if !ok {
		l = &line{speaking: make(chan struct{}, 1)}
		if t.lines == nil {
			t.lines = map[string]*line{}
		}
		t.lines[workflowID] = l
	}
	l.members++
	return l
}

func (t *turns) part(workflowID string, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.members--; l.members == 0 {
		delete(t.lines, workflowID)
	}
}
