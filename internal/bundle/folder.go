package bundle

import (
	"context"
	"io/fs"
	"os"
)

// ReadFolder takes in a local folder under the same rules as an archive of it,
// so that an author learns before uploading what the upload would answer. The
// bundle is a copy in an unnamed temporary file; the caller closes it.
func ReadFolder(ctx context.Context, folder string) (*Bundle, error) {
	// A Root never follows a link out of the folder.
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	u, err := extract(ctx, "", 0, func(x *extraction) error {
		return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return x.addFolderEntry(root, path, d)
		})
	})
	if err != nil {
		return nil, err
	}
	return u.bundle(), nil
}

func (x *extraction) addFolderEntry(root *os.Root, name string, d fs.DirEntry) error {
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		return atPath(symlink(), name)
	case !d.IsDir() && !d.Type().IsRegular():
		return atPath(specialFile("a device, pipe or socket"), name)
	}
	path, err := x.enter(name, d.IsDir())
	if err != nil || path == "" || d.IsDir() {
		return err
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return x.add(path, info.Size(), f)
}
