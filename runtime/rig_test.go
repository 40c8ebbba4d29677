package runtime

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/devlog"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime/internal/cpu"
	"github.com/gokiln/kiln/runtime/internal/cuda"
	"github.com/gokiln/kiln/runtime/internal/cudatest"
	"github.com/gokiln/kiln/runtime/internal/driver"
	metaldriver "github.com/gokiln/kiln/runtime/internal/metal"
	"github.com/gokiln/kiln/runtime/internal/rocm"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/hipcuda"
	"github.com/gokiln/kiln/tests/sim/metal"
)

func TestMain(m *testing.M) {
	if os.Getenv(faultChild) != "" {
		faultInChild() // does not return
	}
	code := tooltest.Run(m)
	cudatest.Clean()
	hip.Clean()
	hipcuda.Clean()
	metal.Clean()
	os.Exit(code)
}

// kernels is hand-written PTX: what the tests launch on a GPU. The stand-in for
// libcuda and the fake executor of the CPU know the same kernels by name.
//
//go:embed testdata/kernels.ptx
var kernels []byte

// hipKernels are the same kernels as HIP text.
//
//go:embed testdata/kernels.hip
var hipKernels []byte

// metalKernels are the same kernels in Metal's language.
//
//go:embed testdata/kernels.metal
var metalKernels []byte

// rig is a device under test.
type rig struct {
	*Device
	kind     string            // of rigKinds
	standin  *cudatest.Library // for "standin"
	sim      *hip.Library      // for "rocm64" and "rocm32"
	metal    *metal.Library    // for "metal" and "metaldiscrete"
	backend  driver.Backend
	registry *registry
}

// rigKinds are the devices that every test runs on: the CPU, the stand-in for
// libcuda, the simulated AMD GPUs with waves of 64 and of 32 lanes, the ROCm driver
// over the stand-in for libcuda, the simulated Apple GPU, which shares the memory of
// the host or has its own, and what needs a GPU.
var rigKinds = []string{"cpu", "standin", "rocm64", "rocm32", "metal", "metaldiscrete", "rocmcuda", "rocm", "cuda"}

// onEach runs a test on every kind of device.
func onEach(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, kind := range rigKinds {
		t.Run(kind, func(t *testing.T) { test(t, newRig(t, kind)) })
	}
}

func newRig(tb testing.TB, kind string) *rig {
	tb.Helper()
	r := &rig{kind: kind}
	name := "cuda"
	switch kind {
	case "cpu":
		name = "cpu"
		r.backend = &cpu.Backend{Load: fakeLoad, Limit: 128 << 20}
	case "standin":
		r.standin = cudatest.Open(tb)
		r.backend = cuda.New(r.standin.Path)
	case "rocm64", "rocm32":
		r.sim = hip.Open(tb)
		r.sim.Set("memory", 128<<20)
		tb.Setenv("KILN_HIPRTC_LIBRARY", r.sim.Path)
		r.backend = rocm.New(r.sim.Path)
		name = map[string]string{"rocm64": "rocm:0", "rocm32": "rocm:1"}[kind]
	case "metal", "metaldiscrete":
		r.metal = metal.Open(tb)
		r.metal.Set("memory", 128)
		if kind == "metaldiscrete" {
			r.metal.Set("discrete", 1)
		}
		r.backend = metaldriver.New(r.metal.Path)
		name = "metal"
	case "rocmcuda":
		r.backend, name = hipOverCUDA(tb), "rocm:0"
	case "rocm":
		r.backend, name = realROCm(), "rocm:0"
		if err := r.backend.Probe().Err; err != nil {
			tb.Skip(err) // "no ROCm device: …"
		}
	case "cuda":
		r.backend = realCUDA()
		if err := r.backend.Probe().Err; err != nil {
			tb.Skip(err) // "no CUDA device: …"
		}
	}
	r.registry = newRegistry(r.backend)
	dev, err := r.registry.openDevice(name)
	require.NoError(tb, err)
	r.Device = dev
	tb.Cleanup(func() { dev.Close() })
	return r
}

var (
	realCUDA = sync.OnceValue(func() driver.Backend { return cuda.New() })
	realROCm = sync.OnceValue(func() driver.Backend { return rocm.New() })
)

func (r *rig) image() Image {
	switch {
	case r.kind == "cpu":
		return Image{Format: "kir", Code: []byte("kernels")}
	case strings.HasPrefix(r.kind, "rocm"):
		return Image{Format: "hip", Code: hipKernels}
	case r.metal != nil:
		return Image{Format: "msl", Code: metalKernels}
	}
	return Image{Format: "ptx", Code: kernels}
}

// function loads the kernel of that name.
func (r *rig) function(tb testing.TB, name string) *Function {
	tb.Helper()
	img := r.image()
	img.Name = name
	mod, err := r.Load(img)
	require.NoError(tb, err)
	fn, err := mod.Function(name)
	require.NoError(tb, err)
	return fn
}

// pack packs arguments the way a launcher does.
func pack(args ...any) []byte {
	var b bytes.Buffer
	for _, a := range args {
		switch v := a.(type) {
		case Slice[float32]:
			a = [2]uint64{v.Addr(), uint64(v.Len())}
		case time.Duration:
			a = uint64(v.Nanoseconds())
		}
		for size := binary.Size(a); size < 16 && b.Len()%size != 0; {
			b.WriteByte(0)
		}
		if err := binary.Write(&b, binary.LittleEndian, a); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// saxpy launches y += a*x.
func saxpy(tb testing.TB, s *Stream, fn *Function, a float32, y, x Slice[float32]) {
	tb.Helper()
	require.NoError(tb, s.Launch(fn, Cover(y.Len(), 256), 0, pack(y, x, a)))
	goruntime.KeepAlive(x.Buffer())
	goruntime.KeepAlive(y.Buffer())
}

// fakeProgram runs the test kernels on the CPU.
type fakeProgram string

func fakeLoad(name string, text []byte) (cpu.Program, error) {
	if string(text) != "kernels" {
		return nil, errors.New("not a kernel")
	}
	return fakeProgram(name), nil
}

func (p fakeProgram) Name() string { return string(p) }

var errFakeFault = errors.New("index 7 out of range with length 4")

func (p fakeProgram) Run(_, _ [3]int, args []byte) error {
	switch p {
	case "saxpy":
		n := int(binary.LittleEndian.Uint64(args[8:]))
		y, x := floatsAt(binary.LittleEndian.Uint64(args), n), floatsAt(binary.LittleEndian.Uint64(args[16:]), n)
		a := *(*float32)(unsafe.Pointer(&args[32]))
		for i := range y {
			y[i] += a * x[i]
		}
	case "note":
		a := make([]uint64, 7) // site, value, counts, 4, log, words, launch
		for i := range a {
			a[i] = binary.LittleEndian.Uint64(args[8*i:])
		}
		note(a[0], a[1], wordsAt[uint32](a[2], int(a[3])), wordsAt[uint64](a[4], int(a[5])), a[6])
	case "spin":
		time.Sleep(time.Duration(binary.LittleEndian.Uint64(args)))
	case "fault":
		return errFakeFault
	}
	return nil
}

// note writes a record to the device log, with the value if the site is 1.
func note(site, value uint64, counts []uint32, log []uint64, launch uint64) {
	record := []uint64{site, launch, 0, 0, 0}
	if site == 1 {
		record = append(record, value)
	}
	at := counts[devlog.Used]
	if counts[devlog.Used] += uint32(len(record)); int(counts[devlog.Used]) > len(log) {
		counts[devlog.Lost]++
		if site > 1 {
			counts[devlog.Failed]++
			devlog.SetFailedBit(counts, uint32(launch))
		}
		return
	}
	copy(log[at:], record)
}

func wordsAt[T uint32 | uint64](addr uint64, n int) []T {
	p := uintptr(addr)
	return unsafe.Slice((*T)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

func floatsAt(addr uint64, n int) []float32 {
	p := uintptr(addr)
	return unsafe.Slice((*float32)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

func ramp(n int, scale float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = scale * float32(i%1000)
	}
	return s
}
