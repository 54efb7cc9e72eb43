package devstack

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

const modulePath = "github.com/course-marketplace/backend"

// ErrNoSource means that this process does not run inside a checkout of the
// project, so tools that are missing cannot be built.
var ErrNoSource = errors.New("not inside a checkout of " + modulePath)

// SourceDir returns the root of the checkout: the first folder from the working
// directory upward that holds the project's go.mod, else the folder this package
// was compiled from. It returns ErrNoSource where there is neither.
func SourceDir() (string, error) {
	if wd, err := os.Getwd(); err == nil {
		if root, ok := moduleAbove(wd); ok {
			return root, nil
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		if root, ok := moduleAbove(filepath.Dir(file)); ok {
			return root, nil
		}
	}
	return "", ErrNoSource
}

func moduleAbove(dir string) (string, bool) {
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(content, []byte("module "+modulePath+"\n")) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
