package bundle

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"
)

// Objects lie at courses/<course_id>/versions/<version_id>/<sha256>. Everything
// of one version shares a prefix, so a version can be removed without a list of
// its files, and a prefix without a row in the database is an orphan.
const coursesPrefix = "courses/"

// OrphanAge is how old a version's objects must be before the absence of a
// database row means that its upload failed, and not that it is under way.
const OrphanAge = time.Hour

// VersionPrefix is where the files of a version lie.
func VersionPrefix(courseID, versionID uuid.UUID) string {
	return coursesPrefix + courseID.String() + "/versions/" + versionID.String() + "/"
}

// FileKey is where the content of a version's file lies.
func FileKey(courseID, versionID uuid.UUID, sha256 string) string {
	return VersionPrefix(courseID, versionID) + sha256
}

func parseVersionPrefix(key string) (v StoredVersion, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 5 || parts[0] != "courses" || parts[2] != "versions" {
		return v, false
	}
	var errCourse, errVersion error
	v.CourseID, errCourse = uuid.Parse(parts[1])
	v.VersionID, errVersion = uuid.Parse(parts[3])
	return v, errCourse == nil && errVersion == nil
}

// StoredObject is one entry of a listing.
type StoredObject struct {
	Key        string
	SizeBytes  int64
	ModifiedAt time.Time
}

// List yields the objects under a prefix in the order of their keys, page by
// page. It ends after the first error.
func (s *Storage) List(ctx context.Context, prefix string) iter.Seq2[StoredObject, error] {
	return func(yield func(StoredObject, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(StoredObject{}, storageError(ctx, err))
				return
			}
			for _, o := range page.Contents {
				if !yield(StoredObject{Key: aws.ToString(o.Key), SizeBytes: aws.ToInt64(o.Size), ModifiedAt: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
		}
	}
}

// deleteBatch is the most keys DeleteObjects takes.
const deleteBatch = 1000

// DeletePrefix removes every object under a prefix and returns how many. It can
// be repeated after a failure.
func (s *Storage) DeletePrefix(ctx context.Context, prefix string) (int, error) {
	if !strings.HasSuffix(prefix, "/") {
		return 0, errors.New("storage: a prefix to delete must end with a slash")
	}
	deleted := 0
	var batch []types.ObjectIdentifier
	flush := func() error {
		n := len(batch)
		if n == 0 {
			return nil
		}
		out, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &s.bucket, Delete: &types.Delete{Objects: batch, Quiet: aws.Bool(true)},
		})
		if err != nil {
			return storageError(ctx, err)
		}
		if len(out.Errors) > 0 {
			return storageError(ctx, errors.New(aws.ToString(out.Errors[0].Code)+": "+aws.ToString(out.Errors[0].Message)))
		}
		deleted += n
		batch = batch[:0]
		return nil
	}
	for o, err := range s.List(ctx, prefix) {
		if err != nil {
			return deleted, err
		}
		batch = append(batch, types.ObjectIdentifier{Key: aws.String(o.Key)})
		if len(batch) == deleteBatch {
			if err := flush(); err != nil {
				return deleted, err
			}
		}
	}
	return deleted, flush()
}

// StoredVersion is what storage holds of one course version.
type StoredVersion struct {
	CourseID   uuid.UUID
	VersionID  uuid.UUID
	Objects    int
	SizeBytes  int64
	ModifiedAt time.Time // of its newest object
}

// Prefix is what DeletePrefix takes to remove the version.
func (v StoredVersion) Prefix() string { return VersionPrefix(v.CourseID, v.VersionID) }

// VersionsUntouchedSince yields the stored versions none of whose objects is
// newer than the given time: the candidates of the clean-up, which deletes
// those the database does not know. It ends after the first error.
func (s *Storage) VersionsUntouchedSince(ctx context.Context, before time.Time) iter.Seq2[StoredVersion, error] {
	return func(yield func(StoredVersion, error) bool) {
		var current StoredVersion
		emit := func() bool {
			return current.Objects == 0 || current.ModifiedAt.After(before) || yield(current, nil)
		}
		// A listing is sorted by key, so a version's objects come together.
		for o, err := range s.List(ctx, coursesPrefix) {
			if err != nil {
				yield(StoredVersion{}, err)
				return
			}
			v, ok := parseVersionPrefix(o.Key)
			if !ok {
				continue
			}
			if v.CourseID != current.CourseID || v.VersionID != current.VersionID {
				if !emit() {
					return
				}
				current = v
			}
			current.add(o)
		}
		emit()
	}
}

func (v *StoredVersion) add(o StoredObject) {
	v.Objects++
	v.SizeBytes += o.SizeBytes
	if o.ModifiedAt.After(v.ModifiedAt) {
		v.ModifiedAt = o.ModifiedAt
	}
}
