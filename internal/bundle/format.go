package bundle

import (
	"strings"

	"github.com/course-marketplace/backend/internal/market"
)

// Format is how an archive is packed.
type Format string

// The formats an upload may have.
const (
	Zip   Format = "zip"
	TarGz Format = "tar.gz"
)

// FormatOf returns the archive format a Content-Type header announces.
func FormatOf(contentType string) (Format, error) {
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/zip", "application/x-zip-compressed":
		return Zip, nil
	case "application/gzip", "application/x-gzip":
		return TarGz, nil
	}
	return "", unsupportedType()
}

func unsupportedType() *market.Error {
	return &market.Error{
		Kind: market.KindUnsupported, Code: CodeUnsupportedType,
		Detail: "Send the bundle as application/zip or application/gzip (a tar.gz).",
	}
}
