package api_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/api/client"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/storetest"
)

func TestFeatureFlags(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.db.NewAgent(t, storetest.NewAgentOptions{Roles: []market.Role{market.RoleAdmin}})
	resource := "/v1/resources/" + uuid.NewString()
	f.want(f.send("GET", "/v1/resources", "", nil), 403, "feature_disabled")
	f.want(f.send("GET", resource, "", nil), 403, "feature_disabled")
	f.want(f.send("GET", resource+"/versions", "", nil), 403, "feature_disabled")
	f.want(f.send("GET", resource+"/versions/"+uuid.NewString()+"/acquisition-plan", admin.Key, nil), 403, "feature_disabled")
	f.want(f.send("POST", resource+"/versions/"+uuid.NewString()+"/download", admin.Key, nil), 403, "feature_disabled")
	f.want(f.send("POST", "/v1/resources:ingest-catalog", admin.Key, map[string]any{"source_uri": "x"}), 403, "feature_disabled")

	c := f.client(admin.Key)
	if _, err := client.OK(c.SetFeatureFlagWithResponse(t.Context(), market.FlagResourceReadSurface, client.SetFeatureFlagRequest{Enabled: true})); err != nil {
		t.Fatal(err)
	}
	if got := f.send("GET", "/v1/resources", "", nil); got.status == 403 {
		t.Errorf("the flag is on, but: %s", got.body)
	}
	f.want(f.send("POST", "/v1/resources:ingest-catalog", admin.Key, map[string]any{"source_uri": "x"}), 403, "feature_disabled")
	flags, err := client.OK(c.ListFeatureFlagsWithResponse(t.Context()))
	if err != nil || len(flags.JSON200.Items) != 2 || flags.JSON200.Items[0].Enabled || !flags.JSON200.Items[1].Enabled {
		t.Errorf("flags: %s %v", flags.Body, err)
	}
	f.want(f.send("PUT", "/v1/admin/feature-flags/no_such", admin.Key, map[string]any{"enabled": true}), 404, "feature_flag_not_found")
	f.want(f.send("PUT", "/v1/admin/feature-flags/resource_read_surface", admin.Key, map[string]any{}), 422, "validation_error")
	if n := f.count("SELECT count(*) FROM audit_events WHERE action = 'feature_flag.set' AND actor_agent_id = $1", admin.ID); n != 1 {
		t.Errorf("%d audit events", n)
	}
}
