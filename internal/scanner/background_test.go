package scanner

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// backgroundLimit is how much of each document counts, in bytes: the length of a long skill.
const backgroundLimit = 12_000

// background reads the documents of testdata/background.txt. The samples of the corpus
// are short and written for it; without real documents the model takes everything that is
// long and technical for harmful.
func background(t *testing.T) [][]string {
	t.Helper()
	list, err := os.ReadFile(filepath.Join("testdata", "background.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var modules, paths []string
	for line := range strings.Lines(string(list)) {
		if module, path, ok := strings.Cut(strings.TrimSpace(line), " "); ok && module != "#" {
			modules, paths = append(modules, module), append(paths, path)
		}
	}
	folders := moduleFolders(t, modules)
	texts := make([][]string, 0, len(paths))
	for i, path := range paths {
		content, err := os.ReadFile(filepath.Join(folders[modules[i]], path))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.SplitSeq(string(content[:min(len(content), backgroundLimit)]), "\n") {
			lines = append(lines, normalizeLine(line))
		}
		texts = append(texts, lines)
	}
	return texts
}

// moduleFolders has Go download what the module cache lacks, and says where each module is.
func moduleFolders(t *testing.T, modules []string) map[string]string {
	t.Helper()
	folders := map[string]string{}
	command := exec.Command("go", "mod", "download", "-json")
	command.Dir = t.TempDir() // outside of this module, whose go.mod has versions of its own
	for _, m := range modules {
		if _, ok := folders[m]; !ok {
			folders[m] = ""
			command.Args = append(command.Args, m)
		}
	}
	out, err := command.Output()
	if err != nil {
		t.Fatalf("download the modules of background.txt: %v\n%s", err, out)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var module struct{ Path, Version, Dir string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			return folders
		} else if err != nil {
			t.Fatal(err)
		}
		folders[module.Path+"@"+module.Version] = module.Dir
	}
}
