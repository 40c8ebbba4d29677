package nvrtc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
)

// Library is an open libnvrtc.
type Library struct{ lib dl.Lib }

// Open opens libnvrtc: the file that KILN_NVRTC names, or the one that the system's
// loader or the usual places have.
func Open() (*Library, error) {
	names := []string{"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}
	if name := os.Getenv("KILN_NVRTC"); name != "" {
		names = []string{name}
	}
	for _, pattern := range []string{"/usr/local/cuda*/lib64/libnvrtc.so", "/usr/local/cuda*/targets/*/lib/libnvrtc.so*"} {
		found, err := filepath.Glob(pattern)
		if err == nil {
			names = append(names, found...)
		}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("NVRTC: %w", err)
	}
	return &Library{lib}, openBuiltins(lib.Name())
}

// openBuiltins opens the library that NVRTC opens by name, from NVRTC's own folder: the
// loader looks into that one only if it was told to.
func openBuiltins(name string) error {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(name), "libnvrtc-builtins.so*"))
	if err != nil || len(found) == 0 || filepath.Dir(name) == "." {
		return nil // the loader found the one, and will find the other
	}
	if _, err := dl.Open(found...); err != nil {
		return fmt.Errorf("NVRTC in %s: %w", name, err)
	}
	return nil
}

// For opens NVRTC for a test, which is skipped without, or fails where
// KILN_REQUIRE_TOOLS=1 says that the machine has everything.
func For(tb testing.TB) *Library {
	tb.Helper()
	l, err := Open()
	switch {
	case err == nil:
		return l
	case os.Getenv("KILN_REQUIRE_TOOLS") == "1":
		tb.Fatalf("KILN_NVRTC should name NVIDIA's run-time compiler: %v", err)
	}
	tb.Skipf("needs NVIDIA's run-time compiler: %v", err)
	return nil
}

func (l *Library) call(name string, args ...uintptr) error {
	fn, err := l.lib.Sym(name)
	if err != nil {
		return err
	}
	if code := int32(dl.Call(fn, args)); code != 0 {
		return fmt.Errorf("%s: NVRTC error %d", name, code)
	}
	return nil
}

// memory is what a call of the library reads and writes. It is pinned, and so on the
// heap: stacks move.
type memory struct {
	program uintptr
	size    uintptr
	text    []byte
	name    []byte
	options [3][]byte
	list    [3]uintptr
	out     []byte
}

// Compile returns the machine code of text for an architecture such as sm_90, and what
// the compiler says of it. Products and sums are not fused.
func (l *Library) Compile(name, text, arch string) (cubin []byte, log string, err error) {
	return l.compile(name, text, arch, "--std=c++17", "CUBIN") // C++17 is what it takes anyway
}

// PTX is Compile as far as PTX.
func (l *Library) PTX(name, text, arch string) (ptx []byte, log string, err error) {
	ptx, log, err = l.compile(name, text, arch, "--std=c++17", "PTX")
	return bytes.TrimRight(ptx, "\x00"), log, err
}

// Check is Compile without making code of what was read.
func (l *Library) Check(name, text, arch string) (log string, err error) {
	_, log, err = l.compile(name, text, arch, "--fdevice-syntax-only", "")
	return log, err
}

// compile returns the form of code that want names, nothing for "".
func (l *Library) compile(name, text, arch, option, want string) (code []byte, log string, err error) {
	m := &memory{text: zero(text), name: zero(name), options: [3][]byte{zero("--gpu-architecture=" + arch), zero("--fmad=false"), zero(option)}}
	var pin runtime.Pinner
	pin.Pin(m)
	defer pin.Unpin()
	if err := l.call("nvrtcCreateProgram", addr(&m.program), addr(&m.text[0]), addr(&m.name[0]), 0, 0, 0); err != nil {
		return nil, "", err
	}
	defer func() { _ = l.call("nvrtcDestroyProgram", addr(&m.program)) }()
	for i, o := range m.options {
		m.list[i] = addr(&o[0])
	}
	failed := l.call("nvrtcCompileProgram", m.program, uintptr(len(m.list)), addr(&m.list[0]))
	said, err := l.get(m, "ProgramLog")
	if err != nil {
		return nil, "", err
	}
	log = strings.TrimSpace(strings.TrimRight(string(said), "\x00"))
	switch {
	case failed != nil:
		return nil, log, fmt.Errorf("%w\n%s", failed, log)
	case want == "":
		return nil, log, nil
	}
	code, err = l.get(m, want)
	return code, log, err
}

var warning = regexp.MustCompile(`(?m)^.*warning #(\d+)-D.*$`)

// Warnings returns the warnings in a log, without those of what kernels say themselves:
// a division by the constant zero (39), a comparison of an unsigned number with zero
// (186), shared memory that is written only (550).
func Warnings(log string) (list []string) {
	for _, m := range warning.FindAllStringSubmatch(log, -1) {
		if m[1] != "39" && m[1] != "186" && m[1] != "550" {
			list = append(list, m[0])
		}
	}
	return list
}

// get asks for a result of the program and its size.
func (l *Library) get(m *memory, what string) ([]byte, error) {
	if err := l.call("nvrtcGet"+what+"Size", m.program, addr(&m.size)); err != nil {
		return nil, err
	}
	m.out = make([]byte, m.size+1)
	err := l.call("nvrtcGet"+what, m.program, addr(&m.out[0]))
	return m.out[:m.size], err
}

func zero(s string) []byte { return append([]byte(s), 0) }

func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
