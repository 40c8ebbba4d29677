package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// verdict is what became of a mutant.
type verdict int

const (
	invalid  verdict = iota // it does not compile
	killed                  // a test noticed it
	survived                // none did
)

// runner tries mutants of a module.
type runner struct {
	root  string        // the module's folder
	limit time.Duration // of one command
}

// try runs the tests of a mutant and returns which of them noticed it.
func (r *runner) try(ctx context.Context, m mutant, tests []test) (v verdict, by string, err error) {
	src, err := os.ReadFile(filepath.Join(r.root, m.file))
	if err != nil {
		return invalid, "", err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return invalid, "", fmt.Errorf("folder for a changed file: %w", err)
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(r.root, m.file): changed}})
	if err != nil {
		return invalid, "", err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(src), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return invalid, "", err
	}
	if ok, _ := r.goCommand(ctx, overlay, "build", "./"+filepath.ToSlash(filepath.Dir(m.file))); !ok {
		return invalid, "", ctx.Err()
	}
	for _, t := range tests {
		if ok, how := r.goCommand(ctx, overlay, append([]string{"test", "-failfast", "-count=1", "-skip", skipped}, t...)...); !ok {
			return killed, strings.Join(t, " ") + how, ctx.Err()
		}
	}
	return survived, "", ctx.Err()
}

// goCommand reports whether the go command succeeds, and how it failed where that is not by its
// status.
func (r *runner) goCommand(ctx context.Context, overlay string, args ...string) (ok bool, how string) {
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, "go", args...)
	cmd.Dir, cmd.WaitDelay = r.root, 5*time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay), "KILN_STRICT=1")
	err := cmd.Run()
	if limited.Err() != nil {
		how = fmt.Sprintf(" (after %v)", r.limit)
	}
	return err == nil, how
}
