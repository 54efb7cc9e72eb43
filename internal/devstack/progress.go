package devstack

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// quietFor is how long a step may take before it is announced: what is
	// quicker appears only once, when it is done.
	quietFor = time.Second
	// remindEvery is how often a long step says that it is still at work.
	remindEvery = 30 * time.Second
)

// progress tells whoever waits what is being waited for and how long it took.
type progress struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *progress) say(part, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%-12s %s\n", part, fmt.Sprintf(format, args...))
}

// Write lets children echo their output between the progress lines.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// step announces what part is doing if it takes longer than a second. The
// returned function ends the step: with what was achieved, or with "" to end it
// without a word.
func (p *progress) step(part, doing string) (end func(achieved string)) {
	begun := time.Now()
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		p.announce(part, doing, begun, done)
	}()
	return func(achieved string) {
		close(done)
		<-gone
		if achieved != "" {
			p.say(part, "%s in %s", achieved, rounded(time.Since(begun)))
		}
	}
}

func (p *progress) announce(part, doing string, begun time.Time, done <-chan struct{}) {
	timer := time.NewTimer(quietFor)
	defer timer.Stop()
	for first := true; ; first = false {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		if first {
			p.say(part, "%s …", doing)
		} else {
			p.say(part, "still %s, %s so far", doing, rounded(time.Since(begun)))
		}
		timer.Reset(remindEvery)
	}
}

func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
