package scanner

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// LocalBundle is a bundle on this machine; Close removes what was unpacked.
type LocalBundle struct {
	*Bundle
	closers []func() error
}

// Close frees the archive or its unpacked copy.
func (b *LocalBundle) Close() error {
	var errs []error
	for _, c := range b.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// errBundleLimits says that a bundle is larger than an upload may be.
var errBundleLimits = fmt.Errorf("the bundle exceeds %d files, %d MiB packed or %d MiB unpacked", MaxFiles, MaxPackedBytes>>20, MaxUnpackedBytes>>20)

// OpenLocal opens a folder, a .zip or a .tar.gz as the upload path would see it.
func OpenLocal(name string) (*LocalBundle, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	if info.IsDir() {
		return openFolder(name)
	}
	if info.Size() > MaxPackedBytes {
		return nil, errBundleLimits
	}
	f, err := os.Open(name) //nolint:gosec // the caller names the archive
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	var head [4]byte
	_, _ = io.ReadFull(f, head[:])
	switch {
	case bytes.HasPrefix(head[:], []byte("PK")):
		return openZip(f, info.Size())
	case bytes.HasPrefix(head[:], []byte{0x1f, 0x8b}):
		defer f.Close()
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("open bundle: %w", err)
		}
		return openTarGzip(f)
	}
	f.Close()
	return nil, errors.New("open bundle: not a folder, zip or tar.gz")
}

// skippedFolders are never uploaded.
var skippedFolders = wordSet(".git .hg .svn")

func openFolder(root string) (*LocalBundle, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	b := &LocalBundle{Bundle: &Bundle{}, closers: []func() error{dir.Close}}
	total := int64(0)
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && skippedFolders[entry.Name()] {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil // links and devices can't be uploaded
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		total += info.Size()
		if len(b.Files) >= MaxFiles || total > MaxUnpackedBytes {
			return errBundleLimits
		}
		b.Files = append(b.Files, File{
			Path: filepath.ToSlash(relative), Size: info.Size(), Executable: info.Mode()&0o100 != 0,
			Open: func() (io.ReadCloser, error) { return dir.Open(relative) },
		})
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read bundle: %w", err), b.Close())
	}
	return b, nil
}

func openZip(f *os.File, size int64) (*LocalBundle, error) {
	files, err := zipFiles(f, size)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &LocalBundle{Bundle: &Bundle{Files: files}, closers: []func() error{f.Close}}, nil
}

func zipFiles(r io.ReaderAt, size int64) ([]File, error) {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("read zip: %w", err)
	}
	var files []File
	total := uint64(0)
	for _, entry := range z.File {
		if !entry.Mode().IsRegular() {
			continue
		}
		size := entry.UncompressedSize64
		if len(files) >= MaxFiles || size > MaxUnpackedBytes-total { // a sum could overflow
			return nil, errBundleLimits
		}
		total += size
		files = append(files, File{Path: entry.Name, Size: int64(size), Executable: entry.Mode()&0o100 != 0, Open: entry.Open}) //nolint:gosec // at most MaxUnpackedBytes
	}
	sortFiles(files)
	return files, nil
}

// openTarGzip unpacks into a temporary folder, because a tar can't be read in any
// other order than its own. Files get numbers for names: what the archive calls them
// never reaches the file system.
func openTarGzip(r io.Reader) (*LocalBundle, error) {
	dir, err := os.MkdirTemp("", "marketplace-scan-")
	if err != nil {
		return nil, fmt.Errorf("unpack bundle: %w", err)
	}
	b := &LocalBundle{Bundle: &Bundle{}, closers: []func() error{func() error { return os.RemoveAll(dir) }}}
	b.Files, err = untar(r, dir)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func untar(r io.Reader, dir string) ([]File, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read tar.gz: %w", err)
	}
	var files []File
	budget := int64(MaxUnpackedBytes)
	archive := tar.NewReader(packed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			sortFiles(files)
			return files, nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, fmt.Errorf("read tar.gz: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if len(files) >= MaxFiles || header.Size > budget {
			return nil, errBundleLimits
		}
		stored := filepath.Join(dir, fmt.Sprintf("%06d", len(files)))
		n, err := store(stored, io.LimitReader(archive, budget))
		if err != nil {
			return nil, err
		}
		budget -= n
		files = append(files, File{
			Path: cleanEntry(header.Name), Size: n, Executable: header.Mode&0o100 != 0,
			Open: func() (io.ReadCloser, error) { return os.Open(stored) }, //nolint:gosec // the name is a number in our own folder
		})
	}
}

func store(name string, r io.Reader) (int64, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the name is a number in our own folder
	if err != nil {
		return 0, fmt.Errorf("unpack bundle: %w", err)
	}
	n, err := io.Copy(f, r)
	if err := errors.Join(err, f.Close()); err != nil {
		return n, fmt.Errorf("unpack bundle: %w", err)
	}
	return n, nil
}

// cleanEntry drops a leading "./" and keeps everything else, so that a path that
// climbs out is still seen to do so.
func cleanEntry(name string) string {
	if strings.HasPrefix(name, "./") {
		return path.Clean(name)
	}
	return name
}

func sortFiles(files []File) {
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
}
