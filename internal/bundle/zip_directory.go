package bundle

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
)

// The records of a zip archive by their signatures and fixed sizes
// (PKWARE APPNOTE.TXT 4.3).
const (
	sigLocalHeader   = 0x04034b50
	sigCentralHeader = 0x02014b50
	sigEnd           = 0x06054b50
	sigEnd64         = 0x06064b50
	sigEnd64Locator  = 0x07064b50

	localHeaderBytes   = 30
	centralHeaderBytes = 46
	endBytes           = 22
	end64Bytes         = 56
	end64LocatorBytes  = 20

	extraZip64       = 0x0001
	extraUnicodePath = 0x7075
)

// maxDirectoryBytes bounds the central directory, which archive/zip keeps in
// memory: 10,000 entries of ordinary names stay below it.
const maxDirectoryBytes = 2 << 20

// zipDirectory is what archive/zip does not tell about a central directory.
type zipDirectory struct {
	start, size, records int64
	offsets              []int64 // of the local headers
}

// readZipDirectory finds the central directory and walks over it without
// keeping it. It is stricter than unzip: the archive has to end with its end
// record, and the directory has to lie right before that, so that every tool
// sees the same files in it.
func readZipDirectory(archive io.ReaderAt, size int64) (zipDirectory, error) {
	d, err := findZipDirectory(archive, size)
	if err != nil {
		return d, err
	}
	if d.records > maxEntries {
		return d, tooManyFiles()
	}
	if d.size > maxDirectoryBytes {
		return d, malformed("The zip's central directory is larger than 2 MiB; leave out comments and extra fields.")
	}
	r := bufio.NewReader(io.NewSectionReader(archive, d.start, d.size))
	for read := int64(0); read < d.size; {
		n, offset, err := readCentralHeader(r)
		if err != nil {
			return d, err
		}
		read += n
		d.offsets = append(d.offsets, offset)
		if int64(len(d.offsets)) > d.records {
			break
		}
	}
	if int64(len(d.offsets)) != d.records {
		return d, malformed("The zip's central directory contradicts its end record.")
	}
	return d, nil
}

func findZipDirectory(archive io.ReaderAt, size int64) (zipDirectory, error) {
	tail := make([]byte, min(size, endBytes+math.MaxUint16))
	if _, err := archive.ReadAt(tail, size-int64(len(tail))); err != nil {
		return zipDirectory{}, malformedBy(err, "its end")
	}
	at := bytes.LastIndex(tail, binary.LittleEndian.AppendUint32(nil, sigEnd))
	if at < 0 || len(tail)-at < endBytes {
		return zipDirectory{}, malformed("This is not a zip archive, or its end is cut off.")
	}
	end := tail[at:]
	if len(end) != endBytes+int(binary.LittleEndian.Uint16(end[20:])) {
		return zipDirectory{}, malformed("There is data after the end of the zip archive.")
	}
	d := zipDirectory{
		records: int64(binary.LittleEndian.Uint16(end[10:])),
		size:    int64(binary.LittleEndian.Uint32(end[12:])),
		start:   int64(binary.LittleEndian.Uint32(end[16:])),
	}
	endOffset := size - int64(len(end))
	if d.records == math.MaxUint16 || d.size == math.MaxUint32 || d.start == math.MaxUint32 {
		return findZip64Directory(archive, endOffset)
	}
	return d, d.checkPosition(endOffset)
}

func findZip64Directory(archive io.ReaderAt, endOffset int64) (zipDirectory, error) {
	locator := make([]byte, end64LocatorBytes)
	if endOffset < end64LocatorBytes+end64Bytes {
		return zipDirectory{}, malformed("The zip64 end record is missing.")
	}
	if _, err := archive.ReadAt(locator, endOffset-end64LocatorBytes); err != nil {
		return zipDirectory{}, malformedBy(err, "its zip64 locator")
	}
	at := signed(locator[8:])
	if binary.LittleEndian.Uint32(locator) != sigEnd64Locator || at < 0 || at > endOffset-end64LocatorBytes-end64Bytes {
		return zipDirectory{}, malformed("The zip64 end record is missing.")
	}
	end := make([]byte, end64Bytes)
	if _, err := archive.ReadAt(end, at); err != nil {
		return zipDirectory{}, malformedBy(err, "its zip64 end record")
	}
	if binary.LittleEndian.Uint32(end) != sigEnd64 {
		return zipDirectory{}, malformed("The zip64 end record is missing.")
	}
	d := zipDirectory{
		records: signed(end[32:]),
		size:    signed(end[40:]),
		start:   signed(end[48:]),
	}
	return d, d.checkPosition(at)
}

// signed reads a 64-bit number; one too large for a file is negative, as which
// every check refuses it.
func signed(b []byte) int64 {
	n := binary.LittleEndian.Uint64(b)
	if n > math.MaxInt64 {
		return -1
	}
	return int64(n)
}

func (d zipDirectory) checkPosition(end int64) error {
	if d.records < 0 || d.size < 0 || d.start < 0 || d.size > end || d.start != end-d.size {
		return malformed("The zip's central directory is not where its end record says.")
	}
	return nil
}

// readCentralHeader returns a record's length and where its local header lies.
func readCentralHeader(r *bufio.Reader) (length, offset int64, err error) {
	var fixed [centralHeaderBytes]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil || binary.LittleEndian.Uint32(fixed[:]) != sigCentralHeader {
		return 0, 0, malformed("The zip's central directory is damaged.")
	}
	nameLen := int(binary.LittleEndian.Uint16(fixed[28:]))
	extraLen := int(binary.LittleEndian.Uint16(fixed[30:]))
	commentLen := int(binary.LittleEndian.Uint16(fixed[32:]))
	name, extra := make([]byte, nameLen), make([]byte, extraLen)
	for _, part := range [][]byte{name, extra} {
		if _, err := io.ReadFull(r, part); err != nil {
			return 0, 0, malformed("The zip's central directory is damaged.")
		}
	}
	if _, err := r.Discard(commentLen); err != nil {
		return 0, 0, malformed("The zip's central directory is damaged.")
	}
	if other, ok := extraField(extra, extraUnicodePath); ok && (len(other) < 5 || !bytes.Equal(other[5:], name)) {
		return 0, 0, atPath(malformed("A zip entry has two different names; pack the archive again with UTF-8 names."), string(name))
	}
	offset = int64(binary.LittleEndian.Uint32(fixed[42:]))
	if offset == math.MaxUint32 {
		offset, err = zip64Offset(fixed[:], extra)
	}
	return int64(centralHeaderBytes + nameLen + extraLen + commentLen), offset, err
}

// zip64Offset takes the local header's offset from the zip64 field, which holds
// only those values that do not fit the fixed record, in this order: size,
// packed size, offset.
func zip64Offset(fixed, extra []byte) (int64, error) {
	field, _ := extraField(extra, extraZip64)
	for _, at := range []int{24, 20} {
		if binary.LittleEndian.Uint32(fixed[at:]) == math.MaxUint32 && len(field) >= 8 {
			field = field[8:]
		}
	}
	if len(field) < 8 {
		return 0, malformed("A zip64 entry lacks its offset.")
	}
	return signed(field), nil
}

func extraField(extra []byte, id uint16) ([]byte, bool) {
	for len(extra) >= 4 {
		size := int(binary.LittleEndian.Uint16(extra[2:]))
		if size > len(extra)-4 {
			return nil, false
		}
		if binary.LittleEndian.Uint16(extra) == id {
			return extra[4 : 4+size], true
		}
		extra = extra[4+size:]
	}
	return nil, false
}

// checkLocalHeader makes sure that a tool that reads the archive from its
// beginning sees the same file as one that reads the central directory.
func checkLocalHeader(archive io.ReaderAt, f *zip.File, offset int64) (extent, error) {
	damaged := atPath(malformed("A zip entry contradicts the central directory."), f.Name)
	header := make([]byte, localHeaderBytes+len(f.Name))
	if offset < 0 {
		return extent{}, damaged
	}
	if _, err := archive.ReadAt(header, offset); err != nil {
		return extent{}, damaged
	}
	flags := binary.LittleEndian.Uint16(header[6:])
	nameLen := int(binary.LittleEndian.Uint16(header[26:]))
	extraLen := int(binary.LittleEndian.Uint16(header[28:]))
	switch {
	case binary.LittleEndian.Uint32(header) != sigLocalHeader,
		(flags^f.Flags)&(flagEncrypted|flagStrongEncrypted) != 0,
		binary.LittleEndian.Uint16(header[8:]) != f.Method,
		nameLen != len(f.Name), string(header[localHeaderBytes:]) != f.Name,
		flags&flagDescriptor == 0 && !localSizesMatch(header, f),
		f.CompressedSize64 > math.MaxInt64/2:
		return extent{}, damaged
	}
	body := offset + localHeaderBytes + int64(nameLen) + int64(extraLen)
	return extent{start: offset, end: body + int64(f.CompressedSize64)}, nil
}

// localSizesMatch compares checksum and sizes; a size of all ones is in the
// zip64 field, whose value the unpacking itself checks.
func localSizesMatch(header []byte, f *zip.File) bool {
	packed := binary.LittleEndian.Uint32(header[18:])
	size := binary.LittleEndian.Uint32(header[22:])
	return binary.LittleEndian.Uint32(header[14:]) == f.CRC32 &&
		(packed == math.MaxUint32 || uint64(packed) == f.CompressedSize64) &&
		(size == math.MaxUint32 || uint64(size) == f.UncompressedSize64)
}
