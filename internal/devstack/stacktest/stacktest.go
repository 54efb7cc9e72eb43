// Package stacktest gives tests a real Postgres, Temporal and S3.
package stacktest

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/course-marketplace/backend/internal/devstack"
)

// startTimeout includes building the tools on a machine that has none.
const startTimeout = 20 * time.Minute

var join = sync.OnceValues(func() (*devstack.Shared, error) {
	dir, err := devstack.SharedDir()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return devstack.JoinShared(ctx, dir, io.Discard)
})

// Shared returns the stack that all test processes of this checkout share, and
// starts it where none runs; it ends by itself when they are done. Tests keep out
// of each other's way: a database of their own, task queues, workflow ids and
// buckets with names of their own, and no part may be killed.
func Shared(t testing.TB) devstack.Endpoints {
	t.Helper()
	shared, err := join()
	if err != nil {
		t.Fatalf("the stack for the tests: %v", err)
	}
	return shared.Endpoints
}

// abandonedAfter is longer than any test runs.
const abandonedAfter = time.Hour

// Dir returns a new folder for a stack of this test alone; it is deleted when the
// test ends. Unlike t.TempDir it is open to the user that Postgres runs as, and
// what a killed test leaves in it is deleted later, with its database.
func Dir(t testing.TB) string {
	t.Helper()
	root, err := devstack.SourceDir()
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Join(root, ".dev", "own")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := devstack.RemoveAbandoned(parent, abandonedAfter); err != nil {
		t.Logf("the stacks of earlier tests: %v", err)
	}
	dir := filepath.Join(parent, strings.ToLower(rand.Text()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("delete the folder of the test's stack: %v", err)
		}
	})
	return dir
}

// Own starts a stack for this test alone, whose parts may be killed. It is
// stopped and deleted when the test ends.
func Own(t testing.TB, options devstack.Options) *devstack.Stack {
	t.Helper()
	if options.Dir == "" {
		options.Dir = Dir(t)
	}
	if options.Output == nil {
		options.Output = t.Output()
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	stack, err := devstack.Start(ctx, options)
	if err != nil {
		t.Fatalf("a stack for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := stack.Destroy(); err != nil {
			t.Errorf("delete the test's stack: %v", err)
		}
	})
	return stack
}

// Bucket makes a bucket for this test and deletes it, with what is in it, when
// the test ends. It returns the store with that bucket set.
func Bucket(t testing.TB, store devstack.S3) devstack.S3 {
	t.Helper()
	store.Bucket = "test-" + strings.ToLower(rand.Text())
	if err := store.CreateBucket(t.Context(), store.Bucket); err != nil {
		t.Fatalf("create bucket %s: %v", store.Bucket, err)
	}
	t.Cleanup(func() {
		if err := deleteBucket(context.WithoutCancel(t.Context()), store); err != nil {
			t.Errorf("delete bucket %s: %v", store.Bucket, err)
		}
	})
	return store
}

func deleteBucket(ctx context.Context, store devstack.S3) error {
	client := store.Client()
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String(store.Bucket)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, object := range page.Contents {
			if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(store.Bucket), Key: object.Key}); err != nil {
				return err
			}
		}
	}
	_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String(store.Bucket)})
	return err
}
