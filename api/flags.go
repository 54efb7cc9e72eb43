package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/db"
)

// flagLifetime is how long a replica goes on with the flags it has read, and so how
// long a change takes to reach every one.
const flagLifetime = 2 * time.Second

// requiredFlags lists, by operation, the feature flag that must be on.
var requiredFlags = map[string]string{
	"list_resources":           market.FlagResourceReadSurface,
	"get_resource":             market.FlagResourceReadSurface,
	"list_resource_versions":   market.FlagResourceReadSurface,
	"get_acquisition_plan":     market.FlagResourceReadSurface,
	"create_artifact_download": market.FlagResourceReadSurface,
	"ingest_catalog_entries":   market.FlagCatalogIngestion,
}

// requireFlag refuses operations whose feature is off.
func (s *Server) requireFlag(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, gated := requiredFlags[operationOf(r.Context()).id]; gated {
			on, err := s.features.enabled(r.Context(), key)
			if err == nil && !on {
				err = market.Forbidden("feature_disabled", "The feature %s is turned off here.", key).With("feature", key)
			}
			if err != nil {
				s.fail(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// flagCache keeps the flags for flagLifetime.
type flagCache struct {
	store *store.Store
	now   func() time.Time

	mu     sync.Mutex
	values map[string]bool
	readAt time.Time
}

func (c *flagCache) enabled(ctx context.Context, key string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || c.now().Sub(c.readAt) > flagLifetime {
		flags, err := c.store.ListFeatureFlags(ctx)
		if err != nil {
			return false, err
		}
		c.values, c.readAt = make(map[string]bool, len(flags)), c.now()
		for _, f := range flags {
			c.values[f.Key] = f.Enabled
		}
	}
	return c.values[key], nil
}

// forget makes this replica follow a change at once.
func (c *flagCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values = nil
}

// ListFeatureFlags answers list_feature_flags.
func (s *Server) ListFeatureFlags(ctx context.Context, _ ListFeatureFlagsRequestObject) (ListFeatureFlagsResponseObject, error) {
	flags, err := s.store.ListFeatureFlags(ctx)
	if err != nil {
		return nil, err
	}
	return ListFeatureFlags200JSONResponse{Items: mapSlice(flags, featureFlag)}, nil
}

// SetFeatureFlag answers set_feature_flag.
func (s *Server) SetFeatureFlag(ctx context.Context, in SetFeatureFlagRequestObject) (SetFeatureFlagResponseObject, error) {
	flag, err := s.store.SetFeatureFlag(ctx, in.Key, in.Body.Enabled, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	s.features.forget()
	return SetFeatureFlag200JSONResponse(featureFlag(flag)), nil
}

func featureFlag(f db.FeatureFlag) FeatureFlag {
	return FeatureFlag{Key: f.Key, Enabled: f.Enabled, Description: f.Description, UpdatedAt: f.UpdatedAt}
}
