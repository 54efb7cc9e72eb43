package bundle

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/course-marketplace/backend/internal/market"
)

// Config says where the objects lie.
type Config struct {
	Endpoint string // base URL of the service
	// PublicEndpoint is the base URL under which clients reach the service,
	// where that differs; only presigned URLs use it.
	PublicEndpoint string
	Region         string
	Bucket         string
	AccessKey      string
	SecretKey      string
	// PathStyle puts the bucket into the path instead of the host name, as
	// services without wildcard DNS need it.
	PathStyle bool
	// SpoolDir is where uploads wait while they are checked, up to 160 MiB
	// each. It should be a disk: memory-backed directories defeat its purpose.
	// Empty means the system's directory for temporary files.
	SpoolDir string
}

// How long the service waits for storage before it calls it unavailable.
const (
	storageAttempts       = 3
	storageMaxBackoff     = 500 * time.Millisecond
	storageDialTimeout    = 3 * time.Second
	storageHeaderTimeout  = 30 * time.Second
	storageRetryAfter     = 5 * time.Second
	storageIdlePerHost    = 16
	storageIdleConnection = time.Minute
)

// Storage keeps objects in one bucket of an S3-compatible service. Its errors
// are market errors: not found, or unavailable with code "storage_unavailable".
type Storage struct {
	client   *s3.Client
	presign  *s3.PresignClient
	bucket   string
	region   string
	spoolDir string
}

// NewStorage makes a client. It does not reach out to the service.
func NewStorage(cfg Config) (*Storage, error) {
	for _, endpoint := range []string{cfg.Endpoint, cfg.PublicEndpoint} {
		u, err := url.Parse(endpoint)
		if err != nil || endpoint != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return nil, errors.New("storage: an endpoint is not an http or https URL")
		}
	}
	if cfg.Endpoint == "" || cfg.Bucket == "" || cfg.AccessKey == "" || cfg.SecretKey == "" {
		return nil, errors.New("storage: endpoint, bucket, access key and secret key are required")
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	public := cfg.Endpoint
	if cfg.PublicEndpoint != "" {
		public = cfg.PublicEndpoint
	}
	return &Storage{
		client:   s3.New(clientOptions(cfg, cfg.Endpoint)),
		presign:  s3.NewPresignClient(s3.New(clientOptions(cfg, public))),
		bucket:   cfg.Bucket,
		region:   cfg.Region,
		spoolDir: cfg.SpoolDir,
	}, nil
}

func clientOptions(cfg Config, endpoint string) s3.Options {
	return s3.Options{
		Region:       cfg.Region,
		BaseEndpoint: aws.String(endpoint),
		UsePathStyle: cfg.PathStyle,
		Credentials:  credentials.NewStaticCredentialsProvider(cfg.AccessKey, cfg.SecretKey, ""),
		HTTPClient: awshttp.NewBuildableClient().
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = storageDialTimeout }).
			WithTransportOptions(func(t *http.Transport) {
				t.ResponseHeaderTimeout = storageHeaderTimeout
				t.MaxIdleConnsPerHost = storageIdlePerHost
				t.IdleConnTimeout = storageIdleConnection
			}),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = storageAttempts
			o.MaxBackoff = storageMaxBackoff
		}),
		// Files carry their SHA-256, which is checked on both ways; further
		// checksums only trouble services that do not know them.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
}

// EnsureBucket creates the bucket unless it exists.
func (s *Storage) EnsureBucket(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	if err == nil {
		return nil
	}
	if !market.HasCode(storageError(ctx, err), "bundle_file_not_found") {
		return storageError(ctx, err)
	}
	in := &s3.CreateBucketInput{Bucket: &s.bucket}
	if s.region != "us-east-1" { // which must not be named as a constraint
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(s.region)}
	}
	_, err = s.client.CreateBucket(ctx, in)
	var owned *types.BucketAlreadyOwnedByYou
	if err != nil && !errors.As(err, &owned) {
		return storageError(ctx, err)
	}
	return nil
}

// Object is what is stored.
type Object struct {
	Key         string
	ContentType string
	Body        io.Reader
	// SizeBytes is the length of Body, negative if it is not known.
	SizeBytes int64
	// SHA256 in hex makes the service refuse a body that does not match it.
	// Optional.
	SHA256 string
}

// Put stores an object. A body that cannot seek, or whose size is unknown, goes
// through an unnamed temporary file first: signing needs its digest and its
// length, and a retry needs its beginning.
func (s *Storage) Put(ctx context.Context, o Object) error {
	if _, seekable := o.Body.(io.ReadSeeker); !seekable || o.SizeBytes < 0 {
		held, err := newSpool(s.spoolDir)
		if err != nil {
			return err
		}
		defer func() { _ = held.Close() }()
		n, err := io.CopyBuffer(held, o.Body, make([]byte, copyBufferBytes))
		if err != nil {
			return err
		}
		if o.SizeBytes >= 0 && n != o.SizeBytes {
			return io.ErrUnexpectedEOF
		}
		o.Body, o.SizeBytes = held.section(0, n), n
	}
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: &o.Key, Body: o.Body, ContentLength: &o.SizeBytes}
	if o.ContentType != "" {
		in.ContentType = &o.ContentType
	}
	if o.SHA256 != "" {
		sum, err := hex.DecodeString(o.SHA256)
		if err != nil {
			return err
		}
		in.ChecksumSHA256 = aws.String(base64.StdEncoding.EncodeToString(sum))
	}
	_, err := s.client.PutObject(ctx, in)
	return storageError(ctx, err)
}

// Get reads an object as a stream, with its size. The caller closes it.
func (s *Storage) Get(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, 0, storageError(ctx, err)
	}
	return objectBody{ctx, out.Body}, aws.ToInt64(out.ContentLength), nil
}

// Delete removes an object; one that is not there is no error.
func (s *Storage) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if market.HasCode(storageError(ctx, err), "bundle_file_not_found") {
		return nil
	}
	return storageError(ctx, err)
}

// OpenFile reads one stored file, verified as Bundle.Open does.
func (s *Storage) OpenFile(ctx context.Context, f File) (io.ReadCloser, error) {
	body, _, err := s.Get(ctx, f.Key)
	if err != nil {
		return nil, err
	}
	return verify(body, f), nil
}

// objectBody turns a connection lost while reading into a market error.
type objectBody struct {
	ctx context.Context
	io.ReadCloser
}

func (b objectBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, storageError(b.ctx, err)
	}
	return n, err
}

// storageError translates an error of the S3 client. A cancelled request stays
// one; whatever else is wrong, wrong credentials included, is an outage to the
// caller, and the cause tells the operator.
func storageError(ctx context.Context, err error) error {
	var noKey *types.NoSuchKey
	var notFound *types.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &noKey), errors.As(err, &notFound):
		e := market.NotFound("bundle_file")
		e.Cause = err
		return e
	case ctx.Err() != nil: // not errors.Is(err, …): a dial timeout is one, too
		return err
	}
	e := market.Unavailable("storage_unavailable", storageRetryAfter, "File storage does not answer; try again shortly.")
	e.Cause = err
	return e
}
