package hipcuda

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/internal/tooltest"
)

//go:embed src src/fake
var sources embed.FS

var built struct {
	once, over sync.Once
	dir        string
	path       string
	nvrtc      string // the stand-in
	err        error
}

// Build returns the path of the library, which is built first.
func Build(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() { built.err = build() })
	switch {
	case errors.Is(built.err, exec.ErrNotFound) && os.Getenv("KILN_REQUIRE_TOOLS") != "1":
		tb.Skipf("HIP over CUDA is built with gcc: %v", built.err)
	case built.err != nil:
		tb.Fatal(built.err)
	}
	return built.path
}

func build() error {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return err
	}
	if built.dir, err = os.MkdirTemp("", "kiln-hipcuda"); err != nil {
		return err
	}
	if err := os.CopyFS(built.dir, sources); err != nil {
		return err
	}
	built.path, built.nvrtc = filepath.Join(built.dir, "libamdhip64.so"), filepath.Join(built.dir, "libnvrtc.so")
	src := filepath.Join(built.dir, "src")
	if err := compile(gcc, built.path, src, filepath.Join(src, "*.c")); err != nil {
		return err
	}
	return compile(gcc, built.nvrtc, src, filepath.Join(src, "fake", "*.c"))
}

func compile(gcc, out, src, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	args := append([]string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
		fmt.Sprintf("-DPRELUDE=%q", filepath.Join(src, "prelude.h")), "-o", out}, files...)
	if text, err := exec.Command(gcc, append(args, "-ldl")...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", gcc, err, text)
	}
	return nil
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
		// A folder that cannot be removed is left to the system.
		_ = os.RemoveAll(built.dir)
	}
}

// BuildOver returns the path of the library, which from now on uses a copy of the given
// libcuda, with a state of its own, and an NVRTC that compiles nothing: it turns a text
// into a list of its kernels. That is for the whole process.
func BuildOver(tb testing.TB, libcuda string) string {
	tb.Helper()
	path := Build(tb)
	lib, err := dl.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	use, err := lib.Sym("shim_use")
	if err != nil {
		tb.Fatal(err)
	}
	own := filepath.Join(built.dir, "libcuda.so")
	built.over.Do(func() { built.err = copyFile(own, libcuda) })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	m := &memory{text: append([]byte(own), 0), name: append([]byte(built.nvrtc), 0)}
	var pin goruntime.Pinner
	pin.Pin(m)
	defer pin.Unpin()
	dl.Call(use, []uintptr{addr(&m.text[0]), addr(&m.name[0])})
	return path
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// Compiler is the library's hipRTC, which needs no GPU.
type Compiler struct{ lib dl.Lib }

// OpenCompiler returns the compiler, or an error that says why there is no NVRTC.
func OpenCompiler(path string) (*Compiler, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	c, v := &Compiler{lib}, new([2]int32)
	var pin goruntime.Pinner
	pin.Pin(v)
	defer pin.Unpin()
	return c, c.call("hiprtcVersion", addr(&v[0]), addr(&v[1]))
}

func (c *Compiler) call(name string, args ...uintptr) error {
	fn, err := c.lib.Sym(name)
	if err != nil {
		return err
	}
	if r := int32(dl.Call(fn, args)); r != 0 {
		text, err := c.lib.Sym("hiprtcGetErrorString")
		if err != nil {
			return err
		}
		return fmt.Errorf("%s: %s", name, dl.Text(dl.Call(text, []uintptr{uintptr(r)})))
	}
	return nil
}

// memory is what a compilation reads and writes. It is pinned, and so on the heap:
// stacks move.
type memory struct {
	program, size uintptr
	text, name    []byte
	options       [][]byte
	list          []uintptr
	out           []byte
}

// Compile compiles HIP text and returns the machine code, or an error with the log.
func (c *Compiler) Compile(name, text string, options ...string) ([]byte, error) {
	m := &memory{text: append([]byte(text), 0), name: append([]byte(name), 0), list: make([]uintptr, len(options)+1)}
	var pin goruntime.Pinner
	pin.Pin(m)
	defer pin.Unpin()
	if err := c.call("hiprtcCreateProgram", addr(&m.program), addr(&m.text[0]), addr(&m.name[0]), 0, 0, 0); err != nil {
		return nil, err
	}
	defer func() { _ = c.call("hiprtcDestroyProgram", addr(&m.program)) }()
	for i, o := range options {
		m.options = append(m.options, append([]byte(o), 0))
		m.list[i] = addr(&m.options[i][0])
	}
	if err := c.call("hiprtcCompileProgram", m.program, uintptr(len(options)), addr(&m.list[0])); err != nil {
		log, logErr := c.get(m, "hiprtcGetProgramLogSize", "hiprtcGetProgramLog")
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, bytes.TrimRight(log, "\x00")), logErr)
	}
	return c.get(m, "hiprtcGetCodeSize", "hiprtcGetCode")
}

// get asks for a result of the program and its size.
func (c *Compiler) get(m *memory, size, what string) ([]byte, error) {
	if err := c.call(size, m.program, addr(&m.size)); err != nil {
		return nil, err
	}
	m.out = make([]byte, m.size+1)
	err := c.call(what, m.program, addr(&m.out[0]))
	return m.out[:m.size], err
}

func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
