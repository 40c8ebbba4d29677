package cudatest

import (
	"embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/internal/tooltest"
)

//go:embed testdata/*.c
var sources embed.FS

// Library is the stand-in for libcuda.
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

var errNoCompiler = errors.New("gcc is missing: the stand-in for libcuda cannot be built")

// Open returns the stand-in in its initial state.
func Open(tb testing.TB) *Library {
	tb.Helper()
	built.once.Do(func() { built.lib, built.err = build() })
	switch {
	case (errors.Is(built.err, errNoCompiler) || errors.Is(built.err, dl.ErrNoDL)) && os.Getenv("KILN_REQUIRE_TOOLS") != "1":
		tb.Skip(built.err)
	case built.err != nil:
		tb.Fatal(built.err)
	}
	l := &Library{Path: built.lib.Name(), tb: tb, lib: built.lib}
	l.Reset()
	tb.Cleanup(l.Reset)
	return l
}

func build() (dl.Lib, error) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return dl.Lib{}, errNoCompiler
	}
	if built.dir, err = os.MkdirTemp("", "kiln-standin"); err != nil {
		return dl.Lib{}, err
	}
	if err := os.CopyFS(built.dir, sources); err != nil {
		return dl.Lib{}, err
	}
	src, out := filepath.Join(built.dir, "testdata", "standin.c"), filepath.Join(built.dir, "libcuda.so")
	cmd := exec.Command(gcc, "-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-o", out, src)
	if text, err := cmd.CombinedOutput(); err != nil {
		return dl.Lib{}, errors.New("gcc: " + err.Error() + "\n" + string(text))
	}
	return dl.Open(out)
}

// Main runs the tests and removes what was built for them.
func Main(m *testing.M) {
	code := tooltest.Run(m)
	Clean()
	os.Exit(code)
}

// Clean removes what was built.
func Clean() {
	if built.dir != "" {
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
func (l *Library) Reset() { call(l.sym("standin_reset")) }

// Fail orders an error: the function called name returns code, after it has been
// called `after` times, count times in all (0 for always).
func (l *Library) Fail(name string, code, after, count int) {
	call(l.sym("standin_fail"), uintptr(unsafe.Pointer(cstring(name))), uintptr(code), uintptr(after), uintptr(count))
}

// Calls is how often a function was called since the last Reset.
func (l *Library) Calls(name string) int {
	return int(int32(call(l.sym("standin_calls"), uintptr(unsafe.Pointer(cstring(name))))))
}

// Set sets "devices", "pools" (-1: the driver does not know the attribute),
// "memory" (bytes) or "delay_us" (before every operation).
func (l *Library) Set(what string, value int) {
	call(l.sym("standin_set"), uintptr(unsafe.Pointer(cstring(what))), uintptr(value))
}

// Get reads "used" (bytes), "hosts", "streams", "events", "modules", "graphs", "retained":
// what exists now.
func (l *Library) Get(what string) int {
	return int(call(l.sym("standin_get"), uintptr(unsafe.Pointer(cstring(what)))))
}

// Launch is a launch that the stand-in was asked for.
type Launch struct {
	Grid, Block                                [3]uint64
	Shared, Stream, Early, Cooperative, Length uint64
	Args                                       [4096]byte
}

// Last is the latest launch.
func (l *Library) Last() *Launch {
	out := new(Launch)
	call(l.sym("standin_last"), uintptr(unsafe.Pointer(out)))
	return out
}
