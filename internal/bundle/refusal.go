package bundle

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/course-marketplace/backend/internal/market"
)

// The codes of a refused upload. docs/bundles.md explains each to authors.
const (
	CodeTooLarge         = "archive_too_large"          // 413
	CodeUnsupportedType  = "archive_type_unsupported"   // 415
	CodeIncomplete       = "upload_incomplete"          // 422, as are all below
	CodeMalformed        = "archive_malformed"          //
	CodeTooLargeUnpacked = "archive_too_large_unpacked" //
	CodeTooManyFiles     = "archive_too_many_files"     //
	CodePathEscape       = "archive_path_escape"        //
	CodeSymlink          = "archive_symlink"            //
	CodeSpecialFile      = "archive_special_file"       //
	CodeDuplicatePath    = "archive_duplicate_path"     //
	CodeBomb             = "archive_bomb"               //
	CodeEncrypted        = "archive_encrypted"          //
	CodeEmpty            = "archive_empty"              //
)

// shownPathBytes bounds how much of a hostile name an answer repeats.
const shownPathBytes = 200

func malformed(format string, args ...any) *market.Error {
	return market.Refused(CodeMalformed, format, args...)
}

// malformedBy wraps the error of a decoder. The spool's own errors pass
// unchanged: a full disk is not the author's fault.
func malformedBy(err error, what string) error {
	if _, ok := market.AsError(err); ok {
		return err
	}
	e := malformed("The archive cannot be read: %s is damaged or cut off.", what)
	e.Cause = err
	return e
}

func atPath(e *market.Error, path string) *market.Error {
	if len(path) > shownPathBytes {
		path = path[:shownPathBytes] + "…"
	}
	return e.With("path", strings.ToValidUTF8(path, "\uFFFD"))
}

func tooLarge() *market.Error {
	return &market.Error{
		Kind: market.KindTooLarge, Code: CodeTooLarge,
		Detail:  "The archive is larger than 32 MiB; leave out what the course does not need.",
		Details: map[string]any{"max_bytes": MaxPackedBytes},
	}
}

func tooLargeUnpacked() *market.Error {
	return market.Refused(CodeTooLargeUnpacked, "The archive unpacks to more than 128 MiB; leave out what the course does not need.").
		With("max_bytes", MaxUnpackedBytes)
}

func tooManyFiles() *market.Error {
	return market.Refused(CodeTooManyFiles, "The archive has more than 2,000 files; leave out what the course does not need.").
		With("max_files", MaxFiles)
}

func bomb(format string, args ...any) *market.Error {
	return market.Refused(CodeBomb, format, args...)
}

// uploadError translates a failure to read the request's body.
func uploadError(err error) error {
	var limit *http.MaxBytesError
	if errors.As(err, &limit) {
		return tooLarge()
	}
	e := market.Refused(CodeIncomplete, "The upload ended before the whole archive had arrived; send it again.")
	e.Cause = err
	return e
}

// spoolRetryAfter is how long a caller waits after the disk failed: uploads in
// progress free their space within seconds.
const spoolRetryAfter = 10 * time.Second

func spoolError(err error) error {
	e := market.Unavailable("upload_spool_unavailable", spoolRetryAfter, "There is no room to receive an upload just now; try again shortly.")
	e.Cause = err
	return e
}
