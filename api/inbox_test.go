package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

// notifyTimes rotates the agent's key, which puts a notification into its inbox, and
// returns the last key.
func (f *fixture) notifyTimes(a storetest.Agent, n int) string {
	f.t.Helper()
	var key apikey.Key
	for range n {
		key = apikey.New()
		if _, err := f.db.RotateAPIKey(f.t.Context(), a.UserID, a.ID, key); err != nil {
			f.t.Fatal(err)
		}
	}
	return key.Text()
}

func TestInbox(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, stranger := f.db.NewAgent(t, storetest.NewAgentOptions{}), f.db.NewAgent(t, storetest.NewAgentOptions{})
	c := f.client(f.notifyTimes(a, 5))
	list := func(params client.ListNotificationsParams) *client.ListNotificationsResponse {
		t.Helper()
		got, err := client.OK(c.ListNotificationsWithResponse(t.Context(), &params))
		if err != nil {
			t.Fatal(err)
		}
		return got.JSON200
	}
	unread := func() int {
		t.Helper()
		got, err := client.OK(c.GetUnreadCountWithResponse(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		return got.JSON200.UnreadCount
	}
	all := list(client.ListNotificationsParams{})
	if len(all.Items) != 5 || unread() != 5 || all.Items[0].IsRead {
		t.Fatalf("%d notifications, %d unread", len(all.Items), unread())
	}
	for range 2 { // again is no error
		read, err := client.OK(c.MarkNotificationReadWithResponse(t.Context(), all.Items[0].ID))
		if err != nil || !read.JSON200.IsRead || read.JSON200.ReadAt == nil {
			t.Fatalf("mark read: %v", err)
		}
	}
	onlyUnread, limit := true, 2
	first := list(client.ListNotificationsParams{UnreadOnly: &onlyUnread, Limit: &limit})
	second := list(client.ListNotificationsParams{UnreadOnly: &onlyUnread, Limit: &limit, Cursor: first.NextCursor})
	if unread() != 4 || len(first.Items) != 2 || len(second.Items) != 2 || second.NextCursor != nil {
		t.Errorf("unread: %d, pages of %d and %d", unread(), len(first.Items), len(second.Items))
	}
	marked, err := client.OK(c.MarkAllNotificationsReadWithResponse(t.Context()))
	if err != nil || marked.JSON200.MarkedCount != 4 || unread() != 0 {
		t.Errorf("mark all read: %v, %v", marked, err)
	}
	f.want(f.send("PATCH", "/v1/notifications/"+all.Items[1].ID.String()+"/read", stranger.Key, nil), 404, "notification_not_found")
	f.want(f.send("PATCH", "/v1/notifications/"+uuid.NewString()+"/read", stranger.Key, nil), 404, "notification_not_found")
}

func TestInboxFilters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.notifyTimes(f.db.NewAgent(t, storetest.NewAgentOptions{}), 2)
	got := f.want(f.send("GET", "/v1/notifications?limit=1&type=agent.api_key_rotated", key, nil), 200, "")
	cursor := got.value("next_cursor")
	f.want(f.send("GET", "/v1/notifications?type=agent.api_key_rotated&cursor="+cursor, key, nil), 200, "")
	// The interface wants a problem for this list's cursor, and nothing else of it.
	f.want(f.send("GET", "/v1/notifications?cursor="+cursor, key, nil), 422, "invalid_cursor")
	f.want(f.send("GET", "/v1/notifications?cursor=x", key, nil), 422, "invalid_cursor")
	f.want(f.send("GET", "/v1/notifications?type=no.such", key, nil), 422, "validation_error")
	f.want(f.send("GET", "/v1/notifications?unread_only=maybe", key, nil), 422, "validation_error")
	if got := f.want(f.send("GET", "/v1/notifications?type=bounty.funded", key, nil), 200, ""); !strings.Contains(string(got.body), `"items":[]`) {
		t.Errorf("another type's list: %s", got.body)
	}
}

func TestCredits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	support := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}})
	grant := func(more ...any) answer {
		body := map[string]any{"agent_id": a.ID, "amount_cents": 2500, "reason": "Welcome"}
		for i := 0; i+1 < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return f.send("POST", "/v1/admin/credits/grants", support.Key, body)
	}
	f.want(grant(), 201, "")
	f.want(grant("amount_cents", 1, "currency", "USD_CREDIT"), 201, "")
	f.want(grant("currency", "EUR"), 422, "currency_unsupported")
	f.want(grant("agent_id", uuid.New()), 404, "agent_not_found")
	f.want(grant("amount_cents", 0), 422, "validation_error")
	f.want(grant("amount_cents", 1_000_000_000_001), 422, "validation_error")
	f.want(grant("amount_cents", 1.5), 422, "validation_error")
	f.want(grant("reason", " "), 422, "validation_error")

	c := f.client(a.Key)
	balance, err := client.OK(c.GetCreditBalanceWithResponse(t.Context()))
	if err != nil || balance.JSON200.AvailableCents != 2501 || balance.JSON200.Frozen {
		t.Fatalf("balance: %v %v", balance, err)
	}
	entries, err := client.OK(c.ListCreditEntriesWithResponse(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	items := entries.JSON200.Items
	if len(items) != 2 || items[0].AmountCents != 1 || *items[0].BalanceAfterCents != 2501 || items[1].Kind != "grant" || *items[1].Memo != "Welcome" {
		t.Errorf("entries: %s", entries.Body)
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.db.NewAgent(t, storetest.NewAgentOptions{})
	support := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleSupport}})
	c := f.client(support.Key)
	for range 2 { // again changes nothing
		frozen, err := client.OK(c.FreezeAccountWithResponse(t.Context(), a.ID))
		if err != nil || !frozen.JSON200.Frozen || frozen.JSON200.FrozenAt == nil {
			t.Fatalf("freeze: %v", err)
		}
	}
	if balance, err := client.OK(f.client(a.Key).GetCreditBalanceWithResponse(t.Context())); err != nil || !balance.JSON200.Frozen {
		t.Errorf("the agent does not see the freeze: %v", err)
	}
	for range 2 {
		free, err := client.OK(c.UnfreezeAccountWithResponse(t.Context(), a.ID))
		if err != nil || free.JSON200.Frozen || free.JSON200.FrozenAt != nil {
			t.Fatalf("unfreeze: %v", err)
		}
	}
	f.want(f.send("PATCH", "/v1/admin/agents/"+uuid.NewString()+"/credit-freeze", support.Key, nil), 404, "agent_not_found")
}
