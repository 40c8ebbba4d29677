package nvrtc

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	return &Library{lib}, nil
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

// memory is what a call of the library reads and writes; on the heap, where it does
// not move.
type memory struct {
	program  uintptr
	size     uintptr
	options  [3]uintptr
	text     []byte
	name     []byte
	arch     []byte
	fmad, ws []byte
	out      []byte
}

// Compile returns the machine code of text for an architecture such as sm_90.
// Products and sums are not fused.
func (l *Library) Compile(name, text, arch string) ([]byte, error) {
	m := &memory{text: zero(text), name: zero(name), arch: zero("--gpu-architecture=" + arch), fmad: zero("--fmad=false"), ws: zero("--disable-warnings")}
	if err := l.call("nvrtcCreateProgram", addr(&m.program), addr(&m.text[0]), addr(&m.name[0]), 0, 0, 0); err != nil {
		return nil, err
	}
	defer func() { _ = l.call("nvrtcDestroyProgram", addr(&m.program)) }()
	m.options = [3]uintptr{addr(&m.arch[0]), addr(&m.fmad[0]), addr(&m.ws[0])}
	if err := l.call("nvrtcCompileProgram", m.program, uintptr(len(m.options)), addr(&m.options[0])); err != nil {
		log, logErr := l.get(m, "ProgramLog")
		if logErr != nil {
			return nil, logErr
		}
		return nil, fmt.Errorf("%w\n%s", err, log)
	}
	code, err := l.get(m, "CUBIN")
	runtime.KeepAlive(m)
	return code, err
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
