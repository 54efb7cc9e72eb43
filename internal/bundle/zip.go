package bundle

import (
	"archive/zip"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/course-marketplace/backend/internal/market"
)

// General purpose flags of a zip entry (APPNOTE.TXT 4.4.4).
const (
	flagEncrypted       = 1 << 0
	flagDescriptor      = 1 << 3
	flagStrongEncrypted = 1 << 6
	flagMaskedHeader    = 1 << 13

	methodAES = 99
)

// Unix file types in the upper half of a zip entry's external attributes.
const (
	unixTypeMask  = 0o170000
	unixRegular   = 0o100000
	unixDirectory = 0o040000
	unixSymlink   = 0o120000
)

func (x *extraction) readZip(packed *spool) error {
	directory, err := readZipDirectory(packed.file, packed.size)
	if err != nil {
		return err
	}
	// The limits on the directory are checked above, before NewReader keeps it
	// in memory. ErrInsecurePath is no failure here: cleanPath decides.
	reader, err := zip.NewReader(packed.file, packed.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return malformedBy(err, "its central directory")
	}
	if len(reader.File) != len(directory.offsets) {
		return malformed("The zip's central directory contradicts its end record.")
	}
	if err := checkZipLayout(packed.file, reader.File, directory); err != nil {
		return err
	}
	for _, f := range reader.File {
		if err := x.addZipEntry(f); err != nil {
			return err
		}
	}
	return nil
}

func (x *extraction) addZipEntry(f *zip.File) error {
	dir, err := zipDirectoryEntry(f)
	if err != nil {
		return err
	}
	path, err := x.enter(f.Name, dir)
	if err != nil {
		return err
	}
	if dir || path == "" {
		return nil
	}
	if f.UncompressedSize64 > MaxUnpackedBytes {
		return x.reserve(MaxUnpackedBytes + 1)
	}
	content, err := f.Open()
	if err != nil {
		return malformedBy(err, "a zip entry")
	}
	defer func() { _ = content.Close() }()
	return x.add(path, int64(f.UncompressedSize64), x.inflate(content))
}

// zipDirectoryEntry refuses what is neither file nor directory and tells the
// two apart.
func zipDirectoryEntry(f *zip.File) (dir bool, err error) {
	if f.Flags&(flagEncrypted|flagStrongEncrypted|flagMaskedHeader) != 0 || f.Method == methodAES {
		return false, atPath(market.Refused(CodeEncrypted, "The archive is encrypted; upload it without a password."), f.Name)
	}
	if f.Method != zip.Store && f.Method != zip.Deflate {
		return false, atPath(malformed("A file is packed with compression method %d; use deflate or none.", f.Method), f.Name)
	}
	dir = len(f.Name) > 0 && f.Name[len(f.Name)-1] == '/'
	switch unixType := f.ExternalAttrs >> 16 & unixTypeMask; unixType {
	case 0, unixRegular:
	case unixDirectory:
		dir = true
	case unixSymlink:
		return false, atPath(symlink(), f.Name)
	default:
		return false, atPath(specialFile("a device, pipe or socket"), f.Name)
	}
	if dir && f.UncompressedSize64 != 0 {
		return false, atPath(malformed("A directory has content."), f.Name)
	}
	return dir, nil
}

// extent is the part of the archive one entry occupies.
type extent struct{ start, end int64 }

// checkZipLayout compares every local header with the central directory and
// refuses entries that share bytes, by which a few kilobytes unpack to
// gigabytes (Fifield, "A better zip bomb", 2019).
func checkZipLayout(archive io.ReaderAt, files []*zip.File, directory zipDirectory) error {
	extents := make([]extent, len(files))
	for i, f := range files {
		e, err := checkLocalHeader(archive, f, directory.offsets[i])
		if err != nil {
			return err
		}
		extents[i] = e
	}
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	if len(extents) > 0 && extents[0].start != 0 {
		return malformed("There is data before the first file of the zip.")
	}
	for i, e := range extents {
		limit := directory.start
		if i+1 < len(extents) {
			limit = extents[i+1].start
		}
		if e.end > limit {
			return bomb("Files in the zip overlap.")
		}
	}
	return nil
}
