package bundle

import (
	"testing"

	"github.com/course-marketplace/backend/internal/devstack"
	"github.com/course-marketplace/backend/internal/devstack/stacktest"
)

// newStorage gives the test a bucket of its own in a real S3 service.
func newStorage(tb testing.TB) *Storage {
	tb.Helper()
	return storageIn(tb, stacktest.Bucket(tb, stacktest.Shared(tb).S3))
}

func storageIn(tb testing.TB, at devstack.S3) *Storage {
	tb.Helper()
	s, err := NewStorage(Config{
		Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket, AccessKey: at.AccessKey, SecretKey: at.SecretKey,
		PathStyle: true, SpoolDir: tb.TempDir(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func storedKeys(tb testing.TB, s *Storage) []string {
	tb.Helper()
	var keys []string
	for o, err := range s.List(tb.Context(), "") {
		if err != nil {
			tb.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}
