package api_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/course-marketplace/backend/api"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
)

// impatient answers within 300 ms.
func impatient(o *api.Options) { o.Flows.Wait = 300 * time.Millisecond }

// expectUnavailable tries to fund, and checks that the refusal comes in time, says when
// to try again, and leaves everything as it was.
func (m *marketplace) expectUnavailable(b storetest.Bounty) {
	m.t.Helper()
	start := time.Now()
	a := m.fund(b.Creator.Key, b.ID)
	m.expect(a, 503, "workflow_unavailable")
	if a.header.Get("Retry-After") == "" {
		m.t.Error("no Retry-After")
	}
	if took := time.Since(start); took > 5*time.Second {
		m.t.Errorf("the refusal took %s", took)
	}
	got := m.want(m.send(http.MethodGet, "/v1/bounties/"+b.ID.String(), b.Creator.Key, nil), 200, "")
	if got.value("funding_status") != "unfunded" || m.db.Available(m.t, b.Creator.ID) != storetest.Reward {
		m.t.Errorf("something was done after all: %s", got.body)
	}
}

// fundAtLast funds when the outage is over.
func (m *marketplace) fundAtLast(b storetest.Bounty) {
	m.t.Helper()
	workertest.Eventually(m.t, func() error {
		if a := m.fund(b.Creator.Key, b.ID); a.status != 200 {
			return market.Unavailable(a.code(), 0, "%s", a.body)
		}
		return nil
	})
	if got := m.db.Available(m.t, b.Creator.ID); got != 0 {
		m.t.Errorf("%d cents left", got)
	}
	m.db.CheckBooks(m.t)
}

func TestWithoutAWorker(t *testing.T) {
	t.Parallel()
	m := newMarketplace(t, workertest.Options{Idle: true}, impatient)
	b := m.db.NewBounty(t, storetest.NewBountyOptions{})
	m.expectUnavailable(b)
	m.temporal.Start(t)
	m.fundAtLast(b)
}

func TestWithoutTemporal(t *testing.T) {
	t.Parallel()
	server := &outage{t: t, target: stacktest.Shared(t).TemporalAddress}
	server.reserve()
	broken, err := client.NewLazyClient(client.Options{HostPort: server.address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broken.Close)
	m := newMarketplace(t, workertest.Options{Clear: true}, impatient, func(o *api.Options) { o.Flows.Client = broken })
	b := m.db.NewBounty(t, storetest.NewBountyOptions{})
	m.expectUnavailable(b)
	if a := m.send(http.MethodGet, "/readyz", "", nil); a.status != 503 {
		t.Errorf("ready without Temporal: %d %s", a.status, a.body)
	}
	server.end()
	m.fundAtLast(b)
}

// outage is an address at which nobody answers until it ends; then it leads to target.
type outage struct {
	t               *testing.T
	address, target string
}

func (o *outage) reserve() {
	o.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.t.Fatal(err)
	}
	o.address = l.Addr().String()
	if err := l.Close(); err != nil {
		o.t.Fatal(err)
	}
}

func (o *outage) end() {
	o.t.Helper()
	l, err := net.Listen("tcp", o.address)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", o.target)
			if err != nil {
				_ = from.Close()
				continue
			}
			go pipe(from, to)
			go pipe(to, from)
		}
	}()
}

func pipe(to io.WriteCloser, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}
