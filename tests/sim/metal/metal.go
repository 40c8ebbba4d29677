package metal

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/standin"
)

//go:embed src
var sources embed.FS

// Library is the stand-in.
type Library struct {
	Path string
	tb   testing.TB
	lib  dl.Lib
}

var built = standin.Library{What: "Apple's GPUs", Name: "libMetal.so", Sources: sources, Arch: "amd64", Prepare: prepare, Flags: flags}

var users atomic.Int32 // tests that are running

// Open returns the stand-in, and fails the test if what it was asked for breaks a
// rule of Metal.
func Open(tb testing.TB) *Library {
	tb.Helper()
	lib := built.Open(tb)
	l := &Library{Path: lib.Name(), tb: tb, lib: lib}
	users.Add(1)
	tb.Cleanup(func() {
		call(l.sym("sim_reset"))
		if text := l.Problems(); text != "" {
			tb.Errorf("Metal's rules were broken:\n%s", text)
		}
		if users.Add(-1) > 0 {
			return // a test around this one has objects of its own
		}
		if text := l.Alive(); text != "" {
			tb.Errorf("objects of Metal were not released:\n%s", text)
		}
	})
	return l
}

// prepare adds what the simulator of AMD GPUs has.
func prepare(clang, src string) error {
	engine, err := hip.Engine()
	if err != nil {
		return err
	}
	for _, name := range []string{"block.cpp", "clang.cpp", "clang.h", "sim.h", "prelude.h", "matrix.h"} {
		text, err := fs.ReadFile(engine, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(src, name), text, 0o600); err != nil {
			return err
		}
	}
	return standin.Run(clang, "-c", "-fPIC", "-x", "c++", "-o", filepath.Join(src, "lds.o"), filepath.Join(src, "lds.cc"))
}

func flags() ([]string, error) {
	list := []string{"-DKILN_SIM_WAVE=32"}
	// Both simulators may be in one process.
	for _, name := range []string{"here", "packet", "wave", "multiply", "barrier", "fence", "turn", "clock"} {
		list = append(list, "-Dkiln_sim_"+name+"=kiln_metal_"+name)
	}
	return list, nil
}

// Main runs the tests and removes what was built for them.
func Main(m *testing.M) {
	code := tooltest.Run(m)
	Clean()
	os.Exit(code)
}

// Clean removes what was built.
func Clean() { built.Clean() }

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

// text is what a function of C wrote.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// Problems returns what broke a rule of Metal since the last call, a line each.
func (l *Library) Problems() string {
	out := make([]byte, 1<<14)
	call(l.sym("sim_problems"), uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)))
	return text(out)
}

// Alive returns the classes that have objects, with their number, a line each.
func (l *Library) Alive() string {
	out := make([]byte, 1<<12)
	call(l.sym("sim_alive"), uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)))
	return text(out)
}

// Compiled counts what Metal has compiled: "library" is the first half of the work,
// from text, "kernel" the second, to the code of the GPU; "archived" counts kernels
// that were taken from an archive instead.
func (l *Library) Compiled(what string) int {
	return int(int32(call(l.sym("sim_compiled"), uintptr(unsafe.Pointer(cstring(what))))))
}

// Fail orders a failure: what is called name fails, after `after` times, count
// times in all (0 for always).
func (l *Library) Fail(name string, after, count int) {
	call(l.sym("sim_fail"), uintptr(unsafe.Pointer(cstring(name))), uintptr(after), uintptr(count))
}

// Set sets "strict" (1: threads that have returned are missed at a barrier), "memory"
// (MiB), "devices" (-1: none), "discrete" (1: the GPU has memory of its own) or "quick" (1: as
// for AMD GPUs). The
// newest version of the language is what the environment variable
// KILN_SIM_METAL_VERSION says, 30 for 3.0, else 3.2.
func (l *Library) Set(what string, value int) {
	call(l.sym("sim_set"), uintptr(unsafe.Pointer(cstring(what))), uintptr(value))
}

// Code is a text that was compiled, without the rest of Metal.
type Code struct {
	lib    *Library
	handle uintptr
}

// Compile compiles a text for a version of the language, 32 for 3.2. Floats are safe.
func (l *Library) Compile(source string, version int) (*Code, error) {
	log := make([]byte, 1<<14)
	h := call(l.sym("sim_compile"), uintptr(unsafe.Pointer(cstring(source))), uintptr(version), uintptr(unsafe.Pointer(&log[0])), uintptr(len(log)))
	if h == 0 {
		return nil, errors.New(text(log))
	}
	return &Code{l, h}, nil
}

// Run runs a kernel. Its argument block, and what that points to, is memory of the
// caller.
func (c *Code) Run(name string, grid, block [3]int, args []byte) error {
	dims := new([6]uint32)
	for i := range 3 {
		dims[i], dims[3+i] = uint32(grid[i]), uint32(block[i])
	}
	log := make([]byte, 1<<12)
	args = append(args, make([]byte, 8)...) // a kernel without arguments reads none
	r := call(c.lib.sym("sim_run"), c.handle, uintptr(unsafe.Pointer(cstring(name))), uintptr(unsafe.Pointer(dims)), uintptr(unsafe.Pointer(&args[0])),
		uintptr(unsafe.Pointer(&log[0])), uintptr(len(log)))
	if int32(r) != 0 {
		return errors.New(text(log))
	}
	return nil
}
