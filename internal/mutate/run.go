package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// verdict is what became of a mutant.
type verdict int

const (
	invalid  verdict = iota // it does not compile
	killed                  // a test noticed it
	survived                // none did
	unclear                 // the tests did not run
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
	if ok, _, _ := r.goCommand(ctx, overlay, "build", "./"+filepath.ToSlash(filepath.Dir(m.file))); !ok {
		return invalid, "", ctx.Err()
	}
	for _, t := range tests {
		ok, late, out := r.goCommand(ctx, overlay, append([]string{"test", "-vet=off", "-failfast", "-count=1", "-skip", skipped}, t...)...)
		switch how := failure(out); {
		case ok:
		case late:
			return killed, fmt.Sprintf("%s (after %v)", strings.Join(t, " "), r.limit), ctx.Err()
		case how == "" && ctx.Err() == nil:
			return unclear, fmt.Sprintf("go test %s failed, and no test did:\n%s", strings.Join(t, " "), out), nil
		default:
			return killed, strings.Join(t, " ") + " " + how, ctx.Err()
		}
	}
	return survived, "", ctx.Err()
}

// failed is what go test prints of a test that failed, or of a program of tests that ended.
var failed = regexp.MustCompile(`(?m)^(?: *--- FAIL: (\S+)|(panic: .*|fatal error: .*|SIG\w+: .*))`)

// failure says what noticed a mutant: the name of the innermost test that is named first, or how
// the program of the tests ended; "" if the output has neither.
func failure(out []byte) string {
	how := ""
	for _, m := range failed.FindAllSubmatch(out, -1) {
		test := string(m[1])
		if test == "" {
			return cmp.Or(how, string(m[2]))
		}
		if !strings.HasPrefix(test, how) {
			break
		}
		how = test
	}
	return how
}

// goCommand reports whether the go command succeeds, or was ended by the limit of time, and what
// it printed.
func (r *runner) goCommand(ctx context.Context, overlay string, args ...string) (ok, late bool, out []byte) {
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, "go", args...)
	cmd.Dir, cmd.WaitDelay = r.root, 5*time.Second
	cmd.Env = append(os.Environ(), r.environment(overlay, filepath.Join(filepath.Dir(overlay), "cache"))...) // what a mutant compiles is for it alone
	out, err := cmd.CombinedOutput()
	return err == nil, limited.Err() != nil, out
}

// environment is what the go command and tests need to see changed files, and to keep what they
// compile in a folder.
func (r *runner) environment(overlay, kernels string) []string {
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay), "KILN_STRICT=1", "KILN_CACHE_DIR=" + kernels}
}
