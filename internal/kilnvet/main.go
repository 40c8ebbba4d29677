package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kilnvet:", err)
		os.Exit(2)
	}
	os.Exit(run(dir, os.Args[1:], os.Stdout, os.Stderr))
}

// run checks the packages that patterns name in dir and returns the exit status.
func run(dir string, patterns []string, stdout, stderr io.Writer) int {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	pkgs, err := load(dir, patterns)
	if err != nil {
		fmt.Fprintln(stderr, "kilnvet:", err)
		return 2
	}
	findings := check(pkgs)
	for _, f := range findings {
		name := f.pos.Filename
		if rel, err := filepath.Rel(dir, name); err == nil {
			name = filepath.ToSlash(rel)
		}
		fmt.Fprintf(stdout, "%s:%d:%d: %s: %s\n", name, f.pos.Line, f.pos.Column, f.rule, f.msg)
	}
	if len(findings) > 0 {
		return 1
	}
	return 0
}
