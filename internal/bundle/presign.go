package bundle

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// PresignTTL is how long a presigned URL works unless configured otherwise.
const PresignTTL = 15 * time.Minute

// PresignedURL is a URL that needs no credential while it lasts.
type PresignedURL struct {
	URL       string
	Method    string
	ExpiresAt time.Time
}

// PresignGet makes a URL by which anybody can GET the file directly from
// storage for the given time (at most seven days, a rule of AWS Signature
// Version 4). Storage answers with the same safe type and disposition as
// ServeFile. A presigned URL works any number of times: where one GET is all
// that is allowed, use a ticket.
func (s *Storage) PresignGet(ctx context.Context, f File, ttl time.Duration) (PresignedURL, error) {
	signedAt := time.Now()
	req, err := s.presign.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket:                     &s.bucket,
		Key:                        &f.Key,
		ResponseContentType:        aws.String(deliveryType(f.ContentType)),
		ResponseContentDisposition: aws.String(disposition(f.Path)),
		ResponseCacheControl:       aws.String("no-store"),
	}, s3.WithPresignExpires(ttl))
	if err != nil {
		return PresignedURL{}, storageError(ctx, err)
	}
	return PresignedURL{URL: req.URL, Method: req.Method, ExpiresAt: signedAt.Add(ttl).UTC()}, nil
}
