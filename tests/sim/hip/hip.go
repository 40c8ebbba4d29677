package hip

import (
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
)

//go:embed src
var sources embed.FS

// Archs are the architectures that can be simulated, with the width of a wave.
var Archs = map[string]int{"gfx90a": 64, "gfx942": 64, "gfx1030": 32, "gfx1100": 32, "gfx1201": 32}

// Library is the stand-in.
type Library struct {
	Path string
	tb   testing.TB
	lib  dl.Lib
}

var built struct {
	once sync.Once
	dir  string
	lib  dl.Lib
	err  error
}

var errNoCompiler = errors.New("clang++-19 is missing, and so is the simulator of AMD GPUs: install clang-19 or set KILN_CLANG to the path of a clang++")

// Open returns the stand-in in its initial state, and puts it back into that when
// the test ends.
func Open(tb testing.TB) *Library {
	tb.Helper()
	l := Attach(tb)
	l.Reset()
	tb.Cleanup(l.Reset)
	return l
}

// Attach returns the stand-in as it is.
func Attach(tb testing.TB) *Library {
	tb.Helper()
	built.once.Do(func() { built.lib, built.err = build() })
	switch {
	case (errors.Is(built.err, errNoCompiler) || errors.Is(built.err, dl.ErrNoDL)) && os.Getenv("KILN_REQUIRE_TOOLS") != "1":
		tb.Skip(built.err)
	case built.err != nil:
		tb.Fatal(built.err)
	}
	return &Library{Path: built.lib.Name(), tb: tb, lib: built.lib}
}

// compiler finds clang++.
func compiler() (string, error) {
	if goruntime.GOOS != "linux" {
		return "", errNoCompiler
	}
	for _, name := range []string{os.Getenv("KILN_CLANG"), "clang++-19"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", errNoCompiler
}

func build() (dl.Lib, error) {
	clang, err := compiler()
	if err != nil {
		return dl.Lib{}, err
	}
	if built.dir, err = os.MkdirTemp("", "kiln-sim-hip"); err != nil {
		return dl.Lib{}, err
	}
	if err := os.CopyFS(built.dir, sources); err != nil {
		return dl.Lib{}, err
	}
	src, out := filepath.Join(built.dir, "src"), filepath.Join(built.dir, "libamdhip64.so")
	files, err := filepath.Glob(filepath.Join(src, "*.cpp"))
	if err != nil {
		return dl.Lib{}, err
	}
	number, err := buildNumber()
	if err != nil {
		return dl.Lib{}, err
	}
	// The thread that works off the queue outlives main: nothing is destroyed behind it.
	args := append([]string{"-std=c++17", "-O1", "-fno-c++-static-destructors", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread",
		fmt.Sprintf("-DSIM_CLANG=%q", clang), fmt.Sprintf("-DSIM_DIR=%q", src), "-DKILN_SIM_WAVE=64",
		fmt.Sprintf("-DSIM_BUILD=%d", number), "-o", out}, files...)
	if text, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		return dl.Lib{}, fmt.Errorf("%s: %w\n%s", clang, err, text)
	}
	return dl.Open(out)
}

// buildNumber is the last part of HIP's version: another one for other sources.
func buildNumber() (int, error) {
	sum := crc32.NewIEEE()
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		sum.Write(text)
		return err
	})
	return int(sum.Sum32() % 100000), err
}

// Main runs the tests and removes what was built for them.
func Main(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}

// Clean removes what was built.
func Clean() {
	if built.dir != "" {
		// A folder that cannot be removed is left to the system.
		_ = os.RemoveAll(built.dir)
	}
}

//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr { return dl.Call(fn, args) }

func (l *Library) sym(name string) uintptr {
	addr, err := l.lib.Sym(name)
	if err != nil {
		l.tb.Fatal(err)
	}
	return addr
}

func cstring(s string) *byte { return &append([]byte(s), 0)[0] }

// Reset waits for the queue and forgets errors, orders and counts.
func (l *Library) Reset() { call(l.sym("sim_reset")) }

// Fail orders an error: the function called name returns code, after it has been
// called `after` times, count times in all (0 for always).
func (l *Library) Fail(name string, code, after, count int) {
	call(l.sym("sim_fail"), uintptr(unsafe.Pointer(cstring(name))), uintptr(code), uintptr(after), uintptr(count))
}

// Revive makes a device that was lost usable again.
func (l *Library) Revive(ordinal int) { call(l.sym("sim_revive"), uintptr(ordinal)) }

// Calls is how often a function was called since the last Reset.
func (l *Library) Calls(name string) int {
	return int(int32(call(l.sym("sim_calls"), uintptr(unsafe.Pointer(cstring(name))))))
}

// Set sets "devices" (how many of them there are), "pools" (-1: the runtime does
// not know the attribute), "memory" (bytes), "delay_us" (before every operation) or
// "strict" (1: threads that have returned are missed at a barrier).
func (l *Library) Set(what string, value int) {
	call(l.sym("sim_set"), uintptr(unsafe.Pointer(cstring(what))), uintptr(value))
}

// Get reads "used" (bytes), "hosts", "streams", "events", "modules": what exists
// now.
func (l *Library) Get(what string) int {
	return int(call(l.sym("sim_get"), uintptr(unsafe.Pointer(cstring(what)))))
}

// Launch is a launch that the stand-in was asked for.
type Launch struct {
	Grid, Block            [3]uint64
	Shared, Stream, Length uint64
	Args                   [4096]byte
}

// Last is the latest launch.
func (l *Library) Last() *Launch {
	out := new(Launch)
	call(l.sym("sim_last"), uintptr(unsafe.Pointer(out)))
	return out
}
