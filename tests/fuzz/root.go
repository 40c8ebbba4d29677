package fuzz

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root returns the directory of this module, which the working directory is in.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/gokiln/kiln\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in the tree of github.com/gokiln/kiln: generated kernels are built against it", start)
		}
	}
}
