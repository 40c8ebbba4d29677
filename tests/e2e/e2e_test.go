package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/internal/tooltest"
)

// bin is the directory of the built programs, repo the module's root.
var bin, repo string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the programs, unless KILN_BIN names a directory that has them: on
// a machine with a GPU there need not be Go.
func run(m *testing.M) int {
	for _, name := range []string{"KILN_CHECK", "KILN_JIT"} {
		os.Unsetenv(name) // the tests set them where they want them
	}
	var err error
	if repo, err = filepath.Abs("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if bin = os.Getenv("KILN_BIN"); bin != "" {
		if bin, err = filepath.Abs(bin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return tooltest.Run(m)
	}
	if bin, err = os.MkdirTemp("", "kiln-e2e"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-ldflags=-w", "-o", bin+string(filepath.Separator), "./cmd/kiln", "./cmd/kiln-vet", "./examples/swiglu", "./examples/edges", "./examples/transpose", "./tests/e2e/testdata/fault")
	build.Dir = repo
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
		return 1
	}
	return tooltest.Run(m)
}

// device is where the programs run: the CPU, or what KILN_DEVICE says.
func device() string {
	if d := os.Getenv("KILN_DEVICE"); d != "" {
		return d
	}
	return "cpu"
}

func TestScripts(t *testing.T) {
	tooltest.Go(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(cond string) (bool, error) {
			if cond != "sweep" {
				return false, fmt.Errorf("no condition %q; there is sweep", cond)
			}
			return tooltest.Sweeps(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "tamper": tamper, "copy-program": copyProgram, "smaller": smaller, "build-missing": buildMissing, "write-tensors": writeTensors, "write-model": writeModel, "write-ranker": writeRanker, "write-translator": writeTranslator, "serve-hub": serveHub, "write-adapter": writeAdapter, "interrupt": interrupt, "try-serve": tryServe, "serve-all": serveAll},
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("REPO", repo)
			env.Setenv("BIN", bin)
			if runtime.GOOS == "windows" {
				env.Setenv("EXE", ".exe")
			}
			env.Setenv("KILN_DEVICE", device())
			env.Setenv("KILN_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOROOT"} {
				if v := goenv(name); v != "" {
					env.Setenv(name, v)
				}
			}
			return nil
		},
	})
}

// status runs a program and checks its exit status: status 2 kiln frobnicate.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status n program [arguments]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%v: exit status %d, want %s", args[1:], got, args[0])
	}
}

// copyProgram copies a program that the script runs afterwards: copy-program from to.
func copyProgram(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: copy-program from to")
	}
	ts.Check(tooltest.CopyProgram(ts.MkAbs(args[1]), ts.MkAbs(args[0])))
}

// tamper changes the code of a kernel in a cache directory, or in a bundle, and leaves all
// digests right: tamper path kernel.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tamper path kernel")
	}
	path, kernel := ts.MkAbs(args[0]), args[1]
	changed := 0
	change := func(e *cache.Entry) {
		if changed == 0 && e.Kind == cache.KindArtifact && strings.Contains(e.Kernel, kernel) {
			e.Body[len(e.Body)-1] ^= 1
			changed++
		}
	}
	info, err := os.Stat(path)
	ts.Check(err)
	if info.IsDir() {
		s, err := cache.Open(path)
		ts.Check(err)
		for _, info := range s.List() {
			e, err := s.Read(info.Key)
			ts.Check(err)
			change(e)
			ts.Check(s.Put(info.Key, e))
		}
	} else {
		b, err := bundle.Open(path)
		ts.Check(err)
		w := bundle.Writer{Compiler: b.Header().Compiler}
		items, err := b.Manifest()
		ts.Check(err)
		for _, it := range items {
			e, err := b.Get(it.Target, it.Key)
			ts.Check(err)
			e.Body = bytes.Clone(e.Body) // of the bundle's memory
			change(e)
			ts.Check(w.Add(it.Key, e))
		}
		ts.Check(b.Close())
		ts.Check(w.WriteFile(path))
	}
	if changed == 0 {
		ts.Fatalf("%s has no code of a kernel %s", path, kernel)
	}
}

// smaller checks that a file has at most a number of percent of the bytes of another:
// smaller 60 new old.
func smaller(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: smaller percent file other")
	}
	percent, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	var sizes [2]int64
	for i, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		sizes[i] = info.Size()
	}
	ts.Logf("%s has %d bytes, %s %d", args[1], sizes[0], args[2], sizes[1])
	if sizes[0]*100 > sizes[1]*percent {
		ts.Fatalf("%s is not small: want at most %d%% of %s", args[1], percent, args[2])
	}
}

var toBuild = regexp.MustCompile(`(?m)^to build it: (kiln prebuild -target \S+ -spec) '(.*)' -o NAME\.kiln(.*)$`)

// buildMissing runs the command that the error for a kernel that is not prebuilt, on
// standard error, gives, to write a bundle: build-missing file.
func buildMissing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: build-missing file")
	}
	m := toBuild.FindStringSubmatch(ts.ReadFile("stderr"))
	if m == nil {
		ts.Fatalf("no command on standard error that would build a kernel")
	}
	command := append(strings.Fields(m[1]), m[2], "-o", args[0])
	command = append(command, strings.Fields(m[3])...)
	ts.Check(ts.Exec(command[0], command[1:]...))
}

var goenvOnce = sync.OnceValue(func() map[string]string {
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOROOT"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	vals := map[string]string{}
	if err == nil {
		for i, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
			vals[names[i]] = line
		}
	}
	return vals
})

func goenv(name string) string { return goenvOnce()[name] }

// swiglu runs the example and returns its standard error.
func swiglu(t *testing.T, cache string, env ...string) string {
	t.Helper()
	name := "swiglu"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	cmd := exec.Command(filepath.Join(bin, name), "-device", device())
	cmd.Env = append(os.Environ(), append([]string{"KILN_LOG=info", "KILN_CACHE_DIR=" + cache}, env...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, stderr.String())
	return stderr.String()
}

var (
	compiled = regexp.MustCompile(`msg=compiled kernel=\S*SwiGLU\S* target=\S+ ms=`)
	loaded   = regexp.MustCompile(`msg=loaded kernel=\S*SwiGLU\S* target=\S+ source=cache ms=`)
)

func TestSecondProcessCompilesNothing(t *testing.T) {
	cache := t.TempDir()
	first := swiglu(t, cache)
	assert.Len(t, compiled.FindAllString(first, -1), 3, "float32, f16, bf16:\n%s", first)
	second := swiglu(t, cache)
	assert.NotContains(t, second, "msg=compiled")
	assert.Len(t, loaded.FindAllString(second, -1), 3, second)
}

func TestTenProcessesAtOnce(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "not", "there", "yet")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { swiglu(t, cache) })
	}
	wg.Wait()
	assert.NotContains(t, swiglu(t, cache), "msg=compiled")
}

// Whatever happens to the files of the cache, the program runs and the cache
// heals.
func TestDamagedCache(t *testing.T) {
	damage := map[string]func([]byte) []byte{
		"truncated":   func(b []byte) []byte { return b[:len(b)/2] },
		"empty":       func([]byte) []byte { return nil },
		"bit flipped": func(b []byte) []byte { b[len(b)/3] ^= 4; return b },
		"foreign":     func([]byte) []byte { return []byte("\x7fELF something else entirely") },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			swiglu(t, cache)
			n := 0
			require.NoError(t, filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil || len(data) == 0 {
					return err
				}
				n++
				return os.WriteFile(path, change(data), 0o600)
			}))
			require.Positive(t, n)
			log := swiglu(t, cache)
			assert.Len(t, compiled.FindAllString(log, -1), 3, log)
			assert.NotContains(t, log, "not usable", "damage is silent")
			assert.NotContains(t, swiglu(t, cache), "msg=compiled", "the cache has not healed")
		})
	}
}

func TestUnusableCacheIsAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	log := swiglu(t, filepath.Join(file, "cache"))
	assert.Equal(t, 1, strings.Count(log, "kernel cache not usable"), log)
	assert.Len(t, compiled.FindAllString(log, -1), 3, log)
}

func TestReadOnlyMode(t *testing.T) {
	cache := t.TempDir()
	cmd := exec.Command(filepath.Join(bin, "swiglu"), "-device", device())
	cmd.Env = append(os.Environ(), "KILN_JIT=readonly", "KILN_CACHE_DIR="+cache)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "a miss must fail")
	assert.Contains(t, string(out), "kernel is not prebuilt")
	swiglu(t, cache)
	assert.NotContains(t, swiglu(t, cache, "KILN_JIT=readonly"), "msg=compiled")
	assert.Contains(t, swiglu(t, cache, "KILN_JIT=off"), "msg=compiled")
}
