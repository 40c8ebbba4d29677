package llvm

import (
	"fmt"
	"sync"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// isa is a set of instruction sets.
type isa uint8

const (
	wave32 isa = 1 << iota // amdgcn with 32 threads in a wave
	wave64                 // amdgcn with 64
	nvptx                  // nvptx64
	amdgcn = wave32 | wave64
	all    = amdgcn | nvptx
)

// dialect is how LLVM IR is written for an instruction set.
type dialect struct {
	isa        isa
	triple     string // "" for the machine's own processor, see [Options.Host]
	convention string // of calling a kernel
	spaces     spaceNumbers
	device     string // synchronisation scope of all threads of the device
	block      string // likewise of those of the block
	width      int    // threads in a warp

	once  sync.Once
	table map[key][]choice
}

// spaceNumbers are the numbers of address spaces by ir.Space. Tables are in global memory for
// NVIDIA: its constant cache would serve lanes that read different elements one after the other.
type spaceNumbers [ir.NumSpaces]int

// rows returns the rows of the dialect.
func (d *dialect) rows() map[key][]choice {
	d.once.Do(func() { d.table = d.makeTable() })
	return d.table
}

var (
	dialectWave32 = &dialect{isa: wave32, triple: "amdgcn-amd-amdhsa", convention: "amdgpu_kernel ", spaces: spaceNumbers{1, 3, 5, 4}, device: "agent", block: "workgroup", width: 32}
	dialectWave64 = &dialect{isa: wave64, triple: "amdgcn-amd-amdhsa", convention: "amdgpu_kernel ", spaces: spaceNumbers{1, 3, 5, 4}, device: "agent", block: "workgroup", width: 64}
	dialectNVPTX  = &dialect{isa: nvptx, triple: "nvptx64-nvidia-cuda", convention: "ptx_kernel ", spaces: spaceNumbers{1, 3, 0, 1}, device: "device", block: "block", width: 32}
)

// dialectOf returns the dialect for t, nil if this package has none.
func dialectOf(t target.Target) *dialect {
	switch {
	case t.Kind != target.LLVM:
		return nil
	case t.CC != 0:
		return dialectNVPTX
	case t.WarpSize == 32:
		return dialectWave32
	}
	return dialectWave64
}

// hosts are the dialects as the machine's own processor can run them.
var hosts = map[isa]*dialect{wave32: onHost(dialectWave32), wave64: onHost(dialectWave64), nvptx: onHost(dialectNVPTX)}

func onHost(d *dialect) *dialect {
	return &dialect{isa: d.isa, spaces: spaceNumbers{1, 3, 0, 1}, device: d.device, block: d.block, width: d.width}
}

func (d *dialect) host() *dialect { return hosts[d.isa] }

// pointer returns the type of pointers into a space.
func (d *dialect) pointer(s ir.Space) string {
	if d.spaces[s] == 0 {
		return "ptr"
	}
	return fmt.Sprintf("ptr addrspace(%d)", d.spaces[s])
}

// typeOf returns the type of values of t.
func (d *dialect) typeOf(t *ir.Type) string {
	if t.IsPtr() {
		return d.pointer(t.Space)
	}
	return typeNames[t.Kind]
}

// attributes of a kernel. The GPU's own defaults flush no subnormal numbers
// either, but they are not the same in all versions.
func (d *dialect) attributes(t target.Target, launch ir.Bounds) string {
	const ieee = ` "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee"`
	switch {
	case d.triple == "":
		return "nounwind" + ieee
	case d.isa&amdgcn != 0:
		least, most := 1, t.MaxThreads
		if launch.Threads > 0 {
			least, most = launch.Threads, launch.Threads
		}
		return fmt.Sprintf(`nounwind "target-cpu"="%s" "amdgpu-flat-work-group-size"="%d,%d" "uniform-work-group-size"="true"`, t.Arch, least, most) + ieee
	}
	return fmt.Sprintf(`nounwind "target-cpu"="%s"`, t.Arch) + ieee
}

// typeNames are the types of values by kind. Halves are patterns.
var typeNames = map[ir.Kind]string{
	ir.KBool: "i1", ir.KI8: "i8", ir.KU8: "i8", ir.KI16: "i16", ir.KU16: "i16", ir.KI32: "i32", ir.KU32: "i32",
	ir.KI64: "i64", ir.KU64: "i64", ir.KF16: "i16", ir.KBF16: "i16", ir.KF32: "float", ir.KF64: "double",
}
