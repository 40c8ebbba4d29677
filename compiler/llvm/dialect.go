package llvm

import (
	"sync"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

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
	convention enum.CallingConv
	spaces     spaceNumbers
	device     string // synchronisation scope of all threads of the device
	block      string // likewise of those of the block
	width      int    // threads in a warp

	once  sync.Once
	table map[key][]*row
}

// spaceNumbers are the numbers of address spaces by ir.Space. Tables are in global memory for
// NVIDIA: its constant cache would serve lanes that read different elements one after the other.
type spaceNumbers [ir.NumSpaces]types.AddrSpace

// rows returns the rows of the dialect.
func (d *dialect) rows() map[key][]*row {
	d.once.Do(func() { d.table = d.makeTable() })
	return d.table
}

var (
	dialectWave32 = &dialect{isa: wave32, triple: "amdgcn-amd-amdhsa", convention: enum.CallingConvAMDGPUKernel, spaces: spaceNumbers{1, 3, 5, 4}, device: "agent", block: "workgroup", width: 32}
	dialectWave64 = &dialect{isa: wave64, triple: "amdgcn-amd-amdhsa", convention: enum.CallingConvAMDGPUKernel, spaces: spaceNumbers{1, 3, 5, 4}, device: "agent", block: "workgroup", width: 64}
	dialectNVPTX  = &dialect{isa: nvptx, triple: "nvptx64-nvidia-cuda", convention: enum.CallingConvPTXKernel, spaces: spaceNumbers{1, 3, 0, 1}, device: "device", block: "block", width: 32}
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
