package target

import (
	"fmt"
	"strings"
	"sync"
)

// The kinds of target: which code generator makes the artifact.
const (
	PTX    = "ptx"    // text for the CUDA driver
	HIP    = "hip"    // C++ for AMD's hipRTC
	CUDA   = "cuda"   // C++ for NVIDIA's NVRTC
	MSL    = "msl"    // Metal Shading Language, for Apple's GPUs
	Interp = "interp" // IR text for the interpreter, written "cpu"; native code for the CPU is of kind [Native]
)

// Target is what code is compiled for.
type Target struct {
	Kind string // PTX, HIP, …
	Arch string // "sm_90", "gfx942"; "" for the interpreter

	CC        int  // compute capability, major*10 + minor
	Version   int  // first PTX version that knows the architecture, or version of Metal's language; major*10 + minor
	Exclusive bool // code runs on this architecture or family only

	WarpSize   int // threads that run in step
	MaxThreads int // threads in a block
	MaxShared  int // bytes of shared memory that a kernel may declare
	FixShared  int // of these, how many a kernel gets without its launches asking for them
	MaxArgs    int // bytes of arguments of a launch; 0 for any
	MaxLocal   int // bytes of local variables that a thread may have in memory
}

// Dynamic reports whether launches ask for the shared memory of a kernel that has n bytes of it.
func (t Target) Dynamic(n int) bool { return n > t.FixShared }

// Overlaps reports whether a kernel can start before the one that it follows in a stream has ended,
// and waits for the end of it by itself (PTX ISA, griddepcontrol): what it takes to start it costs
// nothing then.
func (t Target) Overlaps() bool { return t.Kind == PTX && t.CC >= 90 }

// CopiesAsync reports whether a thread can copy from global to shared memory and go on meanwhile
// (PTX ISA, cp.async).
func (t Target) CopiesAsync() bool {
	return (t.Kind == PTX || t.Kind == CUDA || t.Kind == LLVM) && t.CC >= 80
}

// CASLoops reports whether atomic updates of 8 and 16 bits have to be loops around
// compare-and-swap.
func (t Target) CASLoops() bool { return !t.OnCPU() }

// String returns the text that [Parse] reads.
func (t Target) String() string {
	if t.Kind == Interp {
		return interpreterName(t.WarpSize)
	}
	return t.Kind + ":" + t.Arch
}

// maxLocal is the limit of the CUDA programming guide. The CPU has the same, so
// that what runs there runs elsewhere.
const maxLocal = 512 << 10

// cpuShared is what the largest GPU has, so that kernels for it run on the CPU as well.
const cpuShared = 227 << 10

// CPU is the interpreter's target.
var CPU = Target{Kind: Interp, WarpSize: 32, MaxThreads: 1024, MaxShared: cpuShared, FixShared: cpuShared, MaxLocal: maxLocal}

// arch is a row of the table of CUDA architectures.
type arch struct {
	name      string
	cc        int
	version   int
	shared    int // KiB that a block can have
	exclusive bool
	better    bool // than the one without a letter, for devices that run it: see [ForDevice]
}

// archs is in order of compute capability. The PTX versions and shared-memory
// sizes are those of the PTX ISA and the CUDA programming guide.
var archs = []arch{
	{name: "sm_70", cc: 70, version: 60, shared: 96},
	{name: "sm_72", cc: 72, version: 61, shared: 96},
	{name: "sm_75", cc: 75, version: 63, shared: 64},
	{name: "sm_80", cc: 80, version: 70, shared: 163},
	{name: "sm_86", cc: 86, version: 71, shared: 99},
	{name: "sm_87", cc: 87, version: 74, shared: 163},
	{name: "sm_89", cc: 89, version: 78, shared: 99},
	{name: "sm_90", cc: 90, version: 78, shared: 227},
	{name: "sm_90a", cc: 90, version: 80, shared: 227, exclusive: true, better: true},
	{name: "sm_100", cc: 100, version: 86, shared: 227},
	{name: "sm_100a", cc: 100, version: 86, shared: 227, exclusive: true},
	{name: "sm_100f", cc: 100, version: 88, shared: 227, exclusive: true},
	{name: "sm_103", cc: 103, version: 88, shared: 227},
	{name: "sm_103a", cc: 103, version: 88, shared: 227, exclusive: true},
	{name: "sm_103f", cc: 103, version: 88, shared: 227, exclusive: true},
	{name: "sm_110", cc: 110, version: 90, shared: 227},
	{name: "sm_110a", cc: 110, version: 90, shared: 227, exclusive: true},
	{name: "sm_110f", cc: 110, version: 90, shared: 227, exclusive: true},
	{name: "sm_120", cc: 120, version: 87, shared: 99},
	{name: "sm_120a", cc: 120, version: 87, shared: 99, exclusive: true},
	{name: "sm_120f", cc: 120, version: 88, shared: 99, exclusive: true},
	{name: "sm_121", cc: 121, version: 88, shared: 99},
	{name: "sm_121a", cc: 121, version: 88, shared: 99, exclusive: true},
	{name: "sm_121f", cc: 121, version: 88, shared: 99, exclusive: true},
}

// fixShared is how much shared memory CUDA's kernels can declare in arrays of known length, on
// every architecture.
const fixShared = 48 << 10

func (a arch) target() Target {
	return Target{
		Kind: PTX, Arch: a.name, CC: a.cc, Version: a.version, Exclusive: a.exclusive,
		WarpSize: 32, MaxThreads: 1024, MaxShared: a.shared << 10, FixShared: fixShared, MaxArgs: 4 << 10, MaxLocal: maxLocal,
	}
}

// families lists the kinds of target with their architectures, for [All] and
// [Parse]. A new kind is a row.
var families = []struct {
	kind    string
	example string
	targets func() []Target
}{
	{PTX, "sm_90", cudaTargets(PTX)},
	{CUDA, "sm_90", cudaTargets(CUDA)},
	{HIP, "gfx942", hipTargets},
	{LLVM, "gfx942", llvmTargets},
	{MSL, "3.0", mslTargets},
	{OpenCL, "1.2", openclTargets},
	{Native, "x86-64-v4", nativeTargets},
}

// All returns every known target, the interpreter first.
func All() []Target {
	out := []Target{CPU}
	for _, f := range families {
		out = append(out, f.targets()...)
	}
	return out
}

// cudaTargets are the CUDA architectures as targets of a kind.
func cudaTargets(kind string) func() []Target {
	return func() []Target {
		out := make([]Target, len(archs))
		for i, a := range archs {
			out[i] = a.target()
			out[i].Kind = kind
		}
		return out
	}
}

// gfx is a row of the table of AMD architectures. Waves are 64 wide on CDNA; on
// RDNA, which can do both, 32 is what its compilers choose (AMDGPU backend user
// guide of LLVM, processors and target features).
type gfx struct {
	name string
	wave int
}

var gfxs = []gfx{
	{"gfx900", 64}, {"gfx906", 64}, {"gfx908", 64}, {"gfx90a", 64}, {"gfx942", 64}, {"gfx950", 64},
	{"gfx1010", 32}, {"gfx1030", 32}, {"gfx1031", 32}, {"gfx1032", 32}, {"gfx1100", 32}, {"gfx1101", 32}, {"gfx1102", 32}, {"gfx1103", 32},
	{"gfx1150", 32}, {"gfx1151", 32}, {"gfx1200", 32}, {"gfx1201", 32},
}

func hipTargets() []Target {
	out := make([]Target, len(gfxs))
	for i, g := range gfxs {
		out[i] = Target{Kind: HIP, Arch: g.name, WarpSize: g.wave, MaxThreads: 1024, MaxShared: 64 << 10, FixShared: 64 << 10, MaxArgs: 4 << 10, MaxLocal: maxLocal}
	}
	return out
}

// Parse reads a target: "cpu", or a kind and an architecture, as in "ptx:sm_90".
// The names amd64:avx2 and amd64:avx512 stand for the levels of x86-64 that these
// are the vectors of.
func Parse(s string) (Target, error) {
	if t, ok := parsed.Load(s); ok {
		return t.(Target), nil
	}
	t, err := parse(s)
	if err == nil {
		parsed.Store(s, t)
	}
	return t, err
}

// parsed is targets by texts that Parse was called with, and not more than there are targets:
// each kernel of a program asks for that of its device.
var parsed sync.Map

func parse(s string) (Target, error) {
	if t, ok := parseCPU(s); ok {
		return t, nil
	}
	kind, name, _ := strings.Cut(s, ":")
	var examples []string
	for _, f := range families {
		examples = append(examples, f.kind+":"+f.example)
		if f.kind != kind {
			continue
		}
		var names []string
		for _, t := range f.targets() {
			if t.Arch == name {
				return t, nil
			}
			names = append(names, t.Arch)
		}
		if name == "" {
			return Target{}, fmt.Errorf("target %q names no architecture: write it as in %s:%s; known are %s", s, kind, f.example, strings.Join(names, ", "))
		}
		return Target{}, fmt.Errorf("target %q: unknown architecture %q; known are %s", s, name, strings.Join(names, ", "))
	}
	return Target{}, fmt.Errorf("target %q: unknown kind %q; use cpu or a kind and an architecture: %s", s, kind, strings.Join(examples, ", "))
}

// ForDevice returns the target of a kind for a device of an architecture: the one of that name, or
// with a letter behind it if that has instructions which the compiler makes and the other lacks
// (sm_90a: products of warpgroups, PTX ISA, wgmma).
func ForDevice(kind, name string) (Target, error) {
	for _, a := range archs {
		if kind == PTX && a.better && strings.TrimRight(a.name, "a") == name {
			name = a.name
		}
	}
	return Parse(kind + ":" + name)
}

// ForCUDA returns the target for a device of the given compute capability: the
// newest architecture that the device runs. It fails for devices older than the
// first known one.
func ForCUDA(major, minor int) (Target, error) {
	cc := major*10 + minor
	var best *arch
	for i, a := range archs {
		if a.cc <= cc && !a.exclusive {
			best = &archs[i]
		}
	}
	if best == nil {
		return Target{}, fmt.Errorf("compute capability %d.%d is not supported; the oldest supported is %d.%d",
			major, minor, archs[0].cc/10, archs[0].cc%10)
	}
	return best.target(), nil
}
