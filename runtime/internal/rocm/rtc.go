package rocm

import (
	"bytes"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// rtc is an open hipRTC: the compiler of HIP C++ text. See "Programming for HIP
// runtime compiler (RTC)" at rocm.docs.amd.com/projects/HIP.
type rtc struct {
	name    string
	version string // "hipRTC 6.2"

	hiprtcVersion, hiprtcGetErrorString, hiprtcCreateProgram, hiprtcCompileProgram, hiprtcDestroyProgram uintptr

	hiprtcGetProgramLogSize, hiprtcGetProgramLog, hiprtcGetCodeSize, hiprtcGetCode uintptr
}

func (c *rtc) entries() []vendorapi.Entry {
	need := vendorapi.Need
	return []vendorapi.Entry{
		need(&c.hiprtcVersion, "hiprtcVersion"),
		need(&c.hiprtcGetErrorString, "hiprtcGetErrorString"),
		need(&c.hiprtcCreateProgram, "hiprtcCreateProgram"),
		need(&c.hiprtcCompileProgram, "hiprtcCompileProgram"),
		need(&c.hiprtcDestroyProgram, "hiprtcDestroyProgram"),
		need(&c.hiprtcGetProgramLogSize, "hiprtcGetProgramLogSize"),
		need(&c.hiprtcGetProgramLog, "hiprtcGetProgramLog"),
		need(&c.hiprtcGetCodeSize, "hiprtcGetCodeSize"),
		need(&c.hiprtcGetCode, "hiprtcGetCode"),
	}
}

// rtcLooked lists the names to try for hipRTC: first the one that belongs to the
// HIP library that was found. The last is that library itself, which up to HIP 6
// has the functions of hipRTC too.
func rtcLooked(hip string, version int) []string {
	if name := os.Getenv(RTCLibraryEnv); name != "" {
		return []string{name}
	}
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if goruntime.GOOS == "windows" {
		add(fmt.Sprintf("hiprtc%02d%02d.dll", version/1e7, version/1e5%100))
	} else {
		if twin := strings.Replace(hip, "libamdhip64", "libhiprtc", 1); twin != hip {
			add(twin)
		}
		for _, name := range []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "/opt/rocm/lib/libhiprtc.so"} {
			add(name)
		}
	}
	add(hip)
	return names
}

func openRTC(names []string) (*rtc, error) {
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, err
	}
	c := &rtc{name: lib.Name()}
	if err := vendorapi.Resolve(lib, "hipRTC", c.entries()); err != nil {
		return nil, err
	}
	v := new([2]int32)
	if r := vendorapi.Call(c.hiprtcVersion, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))); r != 0 {
		return nil, fmt.Errorf("%s does not tell its version: %s (%d)", c.name, c.text(r), r)
	}
	c.version = fmt.Sprintf("hipRTC %d.%d", v[0], v[1])
	return c, nil
}

// text is the name of a hiprtcResult, such as HIPRTC_ERROR_COMPILATION.
func (c *rtc) text(r vendorapi.Result) string {
	return dl.Text(dl.Call(c.hiprtcGetErrorString, []uintptr{uintptr(uint32(r))}))
}

// failure makes an error of a hiprtcResult.
func (c *rtc) failure(op, device string, r vendorapi.Result) *driver.Error {
	e := &driver.Error{Op: op, Device: device, Name: c.text(r), Code: int(r)}
	switch r {
	case rtcOutOfMemory:
		e.Kind = driver.ErrOutOfMemory
	default:
		e.Kind = driver.ErrBadImage
	}
	return e
}

// The results of hipRTC that are told apart (hiprtcResult).
const (
	rtcOutOfMemory vendorapi.Result = 1
)

// options are those of every compilation. What they turn off changes results:
// contraction of a*b+c, and assumptions about types that Go does not make.
func options(arch string, img driver.Image) []string {
	list := []string{"--offload-arch=" + arch, "-std=c++17", "-O3", "-ffp-contract=off", "-fno-fast-math", "-fno-strict-aliasing"}
	if img.LineInfo {
		list = append(list, "-gline-tables-only")
	}
	return list
}

// compile makes a code object of HIP C++ text and returns the compiler's log.
func (c *rtc) compile(op, device, arch string, img driver.Image) (code []byte, log string, err error) {
	src, name, prog := cstring(string(img.Code)), cstring(img.Name+".hip"), new(uintptr)
	r := vendorapi.Call(c.hiprtcCreateProgram, uintptr(unsafe.Pointer(prog)), uintptr(unsafe.Pointer(&src[0])), uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
	if r != vendorapi.Success {
		return nil, "", c.failure(op, device, r)
	}
	// The program is a handle of C, and its address is what is destroyed.
	defer vendorapi.Call(c.hiprtcDestroyProgram, uintptr(unsafe.Pointer(prog)))
	opts := options(arch, img)
	var text []byte // all options, one behind the other
	for _, o := range opts {
		text = append(append(text, o...), 0)
	}
	addrs, at := make([]uintptr, len(opts)), uintptr(unsafe.Pointer(&text[0]))
	for i, o := range opts {
		addrs[i] = at
		at += uintptr(len(o) + 1)
	}
	// The fourth argument is not hipRTC's, and C does not look at it: it has the
	// text lie on the heap and stay there, which is known of arguments only.
	compiled := vendorapi.Call(c.hiprtcCompileProgram, *prog, uintptr(len(opts)), uintptr(unsafe.Pointer(&addrs[0])), uintptr(unsafe.Pointer(&text[0])))
	out, r := c.bytes(*prog, c.hiprtcGetProgramLogSize, c.hiprtcGetProgramLog)
	if r == vendorapi.Success {
		log = driver.GoLines(cut(out), img.Name+".hip", string(img.Code))
	}
	if compiled != vendorapi.Success {
		e := c.failure(op, device, compiled)
		e.Log = log
		return nil, log, e
	}
	if code, r = c.bytes(*prog, c.hiprtcGetCodeSize, c.hiprtcGetCode); r != vendorapi.Success {
		return nil, log, c.failure(op, device, r)
	}
	if len(code) == 0 {
		return nil, log, &driver.Error{Op: op, Device: device, Kind: driver.ErrBadImage, Text: c.name + " returned an empty code object"}
	}
	return code, log, nil
}

// bytes asks for a size and then for as many bytes.
func (c *rtc) bytes(prog, size, get uintptr) ([]byte, vendorapi.Result) {
	n := new(uint64)
	if r := vendorapi.Call(size, prog, uintptr(unsafe.Pointer(n))); r != vendorapi.Success || *n == 0 {
		return nil, r
	}
	buf := make([]byte, *n)
	r := vendorapi.Call(get, prog, uintptr(unsafe.Pointer(&buf[0])))
	return buf, r
}

func cstring(s string) []byte { return append([]byte(s), 0) }

func cut(text []byte) string {
	before, _, _ := bytes.Cut(text, []byte{0})
	return string(before)
}
