package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// ListFeatureFlags returns every feature flag.
func (s *Store) ListFeatureFlags(ctx context.Context) ([]db.FeatureFlag, error) {
	flags, err := s.q.ListFeatureFlags(ctx)
	return flags, translate(err, "")
}

// SetFeatureFlag turns a flag on or off on every replica.
func (s *Store) SetFeatureFlag(ctx context.Context, key string, enabled bool, by Actor) (flag db.FeatureFlag, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		flag, err = t.SetFeatureFlag(ctx, db.SetFeatureFlagParams{Key: key, Enabled: enabled})
		if err != nil {
			return translate(err, "feature_flag")
		}
		// A flag has a name, not an id; the audit trail gets an id made from the name.
		subject := uuid.NewSHA1(uuid.NameSpaceOID, []byte("feature_flag:"+key))
		return t.audit(ctx, by, "feature_flag.set", "feature_flag", subject, map[string]any{"key": key, "enabled": enabled})
	})
	return flag, err
}

// EnableAllFeatureFlags turns every flag on, as development wants it.
func (s *Store) EnableAllFeatureFlags(ctx context.Context) error {
	for _, key := range []string{market.FlagResourceReadSurface, market.FlagCatalogIngestion} {
		if _, err := s.q.SetFeatureFlag(ctx, db.SetFeatureFlagParams{Key: key, Enabled: true}); err != nil {
			return fmt.Errorf("enable %s: %w", key, translate(err, "feature_flag"))
		}
	}
	return nil
}
