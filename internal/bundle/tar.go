package bundle

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/course-marketplace/backend/internal/market"
)

func (x *extraction) readTarGz(packed *spool) error {
	// NewReader reads ahead unless its source is a ByteReader.
	gz, err := gzip.NewReader(bufio.NewReaderSize(packed.section(0, packed.size), copyBufferBytes))
	if err != nil {
		return malformedBy(err, "its gzip header")
	}
	stream := x.inflate(gz)
	tr := tar.NewReader(stream)
	for {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return x.readTarTail(stream)
		}
		if err != nil {
			return malformedBy(err, "a tar header")
		}
		if err := x.addTarEntry(header, tr); err != nil {
			return err
		}
	}
}

func (x *extraction) addTarEntry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // git archive writes the commit's id there
	}
	if err := refuseTarType(header); err != nil {
		return err
	}
	dir := header.Typeflag == tar.TypeDir
	path, err := x.enter(header.Name, dir)
	if err != nil {
		return err
	}
	if path == "" || dir {
		return nil
	}
	return x.add(path, header.Size, content)
}

func refuseTarType(header *tar.Header) error {
	var special string
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir:
		if !sparse(header) {
			return nil
		}
		special = "a sparse file"
	case tar.TypeSymlink:
		return atPath(symlink(), header.Name)
	case tar.TypeLink:
		special = "a hard link"
	case tar.TypeChar, tar.TypeBlock:
		special = "a device"
	case tar.TypeFifo:
		special = "a named pipe"
	case tar.TypeGNUSparse:
		special = "a sparse file"
	default:
		special = "an entry of an unknown type"
	}
	return atPath(specialFile(special), header.Name)
}

// sparse reports a sparse file in the pax form, whose type is that of a regular
// file. A course needs none, and their holes unpack to any size.
func sparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// readTarTail reads to the end of the stream, which checks gzip's checksum, and
// refuses anything but padding: another tool might unpack what follows.
func (x *extraction) readTarTail(stream io.Reader) error {
	for {
		n, err := stream.Read(x.buffer)
		for _, b := range x.buffer[:n] {
			if b != 0 {
				return malformed("There is data after the end of the tar archive.")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func symlink() *market.Error {
	return market.Refused(CodeSymlink, "The archive holds a symbolic link; put the file itself in its place.")
}

func specialFile(what string) *market.Error {
	return market.Refused(CodeSpecialFile, "The archive holds %s; only regular files and directories are allowed.", what)
}
