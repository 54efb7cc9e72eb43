package api_test

import (
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
	"github.com/course-marketplace/backend/worker/workertest"
	"github.com/course-marketplace/backend/workflows"
)

// Whoever may look at the Temporal server sees no credential, whether payloads are
// sealed or not; and of sealed payloads nothing.
func TestHistoriesHoldNoSecret(t *testing.T) {
	t.Parallel()
	for name, clear := range map[string]bool{"sealed": false, "clear": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarketplace(t, workertest.Options{Clear: clear})
			b := m.db.NewBounty(t, storetest.NewBountyOptions{Status: market.BountyAwarded})
			p := decode[payout](t, m.want(m.pay(b.Creator.Key, b.ID), 201, ""))
			m.awaitPayout(m.support(), p.ID, "settled")
			for _, workflowID := range []string{workflows.BountyWorkflowID(b.ID), workflows.PayoutWorkflowID(p.ID)} {
				text := m.everythingAbout(workflowID)
				for _, secret := range []string{"cmk_", b.Creator.Key, b.Submitter.Key, storetest.Password, b.Creator.Email, b.Submitter.Email} {
					if strings.Contains(text, secret) {
						t.Errorf("%s holds %q", workflowID, secret)
					}
				}
				if readable := strings.Contains(text, "amount_cents"); readable != clear {
					t.Errorf("the payloads of %s can be read: %t", workflowID, readable)
				}
			}
		})
	}
}

// everythingAbout is a run's history and description, with its payloads as the server has them.
func (m *marketplace) everythingAbout(workflowID string) string {
	m.t.Helper()
	var text strings.Builder
	events := m.temporal.Client.GetWorkflowHistory(m.t.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			m.t.Fatal(err)
		}
		text.WriteString(event.String()) // payloads as quoted bytes
	}
	described, err := m.temporal.Client.DescribeWorkflowExecution(m.t.Context(), workflowID, "")
	if err != nil {
		m.t.Fatal(err)
	}
	text.WriteString(described.String() + protojson.Format(described))
	return text.String()
}
