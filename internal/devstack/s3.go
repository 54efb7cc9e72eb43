package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	s3Region = "us-east-1"
	s3Bucket = "marketplace"
	s3Health = "/healthz"
)

var s3Tool = tool{name: "versitygw", estimate: "1 to 2 minutes"}

// S3 is how to reach the object store. Buckets are addressed by path.
type S3 struct {
	Endpoint  string `json:"endpoint"`
	Region    string `json:"region"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Bucket    string `json:"bucket"`
}

// Client returns a client of the object store.
func (s S3) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(s.Endpoint),
		Region:       s.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		UsePathStyle: true,
	})
}

// CreateBucket makes the bucket unless it is there.
func (s S3) CreateBucket(ctx context.Context, bucket string) error {
	_, err := s.Client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	var owned *types.BucketAlreadyOwnedByYou
	if errors.As(err, &owned) {
		return nil
	}
	return err
}

func (s *Stack) s3Dir() string { return filepath.Join(s.dir, "s3") }

func (s *Stack) s3Command(ctx context.Context) (Command, error) {
	program, err := findTool(ctx, s3Tool, s.progress)
	if err != nil {
		return Command{}, err
	}
	// Metadata goes into files of its own: extended attributes, the gateway's
	// default, are missing on some of the file systems containers run on.
	objects, metadata := filepath.Join(s.s3Dir(), "objects"), filepath.Join(s.s3Dir(), "metadata")
	for _, dir := range []string{objects, metadata} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Command{}, err
		}
	}
	return Command{
		Name:  PartS3,
		Argv:  []string{program, "--port", loopback(s.Ports.S3), "--region", s3Region, "--quiet", "--health", s3Health, "posix", "--sidecar", metadata, objects},
		Env:   []string{"ROOT_ACCESS_KEY_ID=" + s.S3.AccessKey, "ROOT_SECRET_ACCESS_KEY=" + s.S3.SecretKey},
		Grace: 5 * time.Second,
		Ready: s.s3Ready,
	}, nil
}

func (s *Stack) s3Ready(ctx context.Context) error {
	if err := HTTPReady(s.S3.Endpoint + s3Health)(ctx); err != nil {
		return err
	}
	if err := s.S3.CreateBucket(ctx, s.S3.Bucket); err != nil {
		return fmt.Errorf("create bucket %s: %w", s.S3.Bucket, err)
	}
	return nil
}
