package dsl

import "github.com/gokiln/kiln/dsl/internal/host"

// Thread is one thread of a launch: its position, and the meeting points it
// shares with its warp and block. Every kernel has one as first parameter and
// passes it on by value.
type Thread struct{ h *host.Lane }

// NewThread makes a Thread of a lane of the host scheduler. Package dsltest
// uses it; there is no other way to come by a lane.
func NewThread(h *host.Lane) Thread { return Thread{h} }

// ThreadX is the position of the thread in its block along x.
//
//kiln:intrinsic
func (t Thread) ThreadX() int { return t.h.Must().Thread.X }

// ThreadY is the position of the thread in its block along y.
//
//kiln:intrinsic
func (t Thread) ThreadY() int { return t.h.Must().Thread.Y }

// ThreadZ is the position of the thread in its block along z.
//
//kiln:intrinsic
func (t Thread) ThreadZ() int { return t.h.Must().Thread.Z }

// BlockX is the position of the block in the grid along x.
//
//kiln:intrinsic
func (t Thread) BlockX() int { return t.h.Must().Block.X }

// BlockY is the position of the block in the grid along y.
//
//kiln:intrinsic
func (t Thread) BlockY() int { return t.h.Must().Block.Y }

// BlockZ is the position of the block in the grid along z.
//
//kiln:intrinsic
func (t Thread) BlockZ() int { return t.h.Must().Block.Z }

// BlockDimX is the number of threads of a block along x.
//
//kiln:intrinsic
func (t Thread) BlockDimX() int { return t.h.Must().BlockDim.X }

// BlockDimY is the number of threads of a block along y.
//
//kiln:intrinsic
func (t Thread) BlockDimY() int { return t.h.Must().BlockDim.Y }

// BlockDimZ is the number of threads of a block along z.
//
//kiln:intrinsic
func (t Thread) BlockDimZ() int { return t.h.Must().BlockDim.Z }

// GridDimX is the number of blocks of the grid along x.
//
//kiln:intrinsic
func (t Thread) GridDimX() int { return t.h.Must().GridDim.X }

// GridDimY is the number of blocks of the grid along y.
//
//kiln:intrinsic
func (t Thread) GridDimY() int { return t.h.Must().GridDim.Y }

// GridDimZ is the number of blocks of the grid along z.
//
//kiln:intrinsic
func (t Thread) GridDimZ() int { return t.h.Must().GridDim.Z }

// Lane is the position of the thread in its warp.
//
//kiln:intrinsic
func (t Thread) Lane() int { return t.h.Index() % t.h.WarpSize }

// Warp is the number of the warp in its block.
//
//kiln:intrinsic
func (t Thread) Warp() int { return t.h.Index() / t.h.WarpSize }

// WarpSize is the number of threads of a warp, a power of two. It is a constant
// of the target: 32 on NVIDIA and Apple, 32 or 64 on AMD, 16 or 8 in the CPU's machine
// code and 32 in its interpreter.
//
//kiln:intrinsic
func (t Thread) WarpSize() int { return t.h.Must().WarpSize }

// Sync waits until all threads of the block are there, and makes what each
// wrote to shared and global memory visible to all of them. Either all threads
// of a block come to a Sync or none does.
//
//kiln:intrinsic
func (t Thread) Sync() { t.h.Meet(host.OpSync) }

// SyncGrid is [Thread.Sync] for all threads of the launch, and for global memory only. Either all of
// them come to a SyncGrid or none does. All blocks of such a kernel are resident at the same time, so
// a launch with more of them than the device has room for is an error. Devices that cannot promise it
// refuse the kernel; there the way is a launch for each step.
//
//kiln:intrinsic
func (t Thread) SyncGrid() { t.h.Meet(host.OpSyncGrid) }

// SyncWarp is [Thread.Sync] for the threads of a warp.
//
//kiln:intrinsic
func (t Thread) SyncWarp() { t.h.Meet(host.OpSyncWarp) }

// Global is the position of the thread in the grid along x: where a
// grid-stride loop starts.
func (t Thread) Global() int { return t.BlockX()*t.BlockDimX() + t.ThreadX() }

// GlobalSize is the number of threads of the grid along x: the step of a
// grid-stride loop.
func (t Thread) GlobalSize() int { return t.GridDimX() * t.BlockDimX() }

// GlobalX is the position of the thread in the grid along x.
func (t Thread) GlobalX() int { return t.BlockX()*t.BlockDimX() + t.ThreadX() }

// GlobalY is the position of the thread in the grid along y.
func (t Thread) GlobalY() int { return t.BlockY()*t.BlockDimY() + t.ThreadY() }

// GlobalZ is the position of the thread in the grid along z.
func (t Thread) GlobalZ() int { return t.BlockZ()*t.BlockDimZ() + t.ThreadZ() }

// ThreadIndex is the linear number of the thread in its block, x fastest.
func (t Thread) ThreadIndex() int {
	return (t.ThreadZ()*t.BlockDimY()+t.ThreadY())*t.BlockDimX() + t.ThreadX()
}

// BlockSize is the number of threads of a block.
func (t Thread) BlockSize() int { return t.BlockDimX() * t.BlockDimY() * t.BlockDimZ() }
