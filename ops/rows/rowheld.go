package rows

import (
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Where a block has the shared memory for a long row, blocks have rows for themselves. Those
// of F32 are persistent and prefetch the next row: one or two are resident on a
// multiprocessor. Of halves several are. Norms go from row to row, too; a softmax, which
// has no weights to wait for, has a block for each.

var (
	softmaxHeld, normHeld = jit.Of(kernels.SoftmaxHeld), jit.Of(kernels.NormHeld)

	normFetched = ops.TypedKernel{Name: "norm", Kernel: jit.Of(kernels.NormFetched[float32]), Params: func(t, _ reflect.Type) []reflect.Type {
		ts := reflect.SliceOf(t)
		return []reflect.Type{ts, ts, ts, ts, FoldType, ops.ConstIntType, float32Type, ops.ConstBoolType, ops.ConstBoolType, ops.ConstBoolType}
	}}
)

const (
	heldThreads   = 1024 // of a block that goes from row to row
	heldKept      = 32   // loads of a row that a thread has in flight
	heldRegisters = 64   // of such a thread
	ownThreads    = 512  // of a block that has one long row
	ownKept       = 64   // elements of it that a thread has, while there are more threads
	ownRegisters  = 40   // of such a thread
	besideRow     = 2048 // bytes of shared memory of a block besides its row, of which the system has some
	leastOwn      = 3    // such blocks that are resident on a multiprocessor, or rows are divided
	leastRounds   = 2    // rows for each multiprocessor at least, or rows are divided
)

// roomFor is the occupancy: how many blocks of so many threads and registers are resident,
// if each thread keeps some elements of a row in shared memory.
func (l *RowOp) roomFor(info *runtime.Info, threads, registers, keep int) int {
	return min(info.ThreadsPerUnit/threads, info.RegistersPerUnit/(threads*registers), info.SharedPerBlock/(threads*keep*l.X.DType.Size()+besideRow))
}

// enough reports whether rows are long, and enough for all multiprocessors, or cannot be
// divided.
func (l *RowOp) enough(info *runtime.Info) bool {
	rows := l.Kept[0].Count()
	return !ops.SerialBlocks(info) && l.Len() > splitRow && rows <= math.MaxInt32 && (rows >= leastRounds*info.Units || l.splits(info) == 0)
}

// hold chooses how blocks go from row to row, if rows are contiguous, and returns how many
// of them are resident on a multiprocessor, 0 for another way.
func (l *RowOp) hold(info *runtime.Info) (room int) {
	if l.X.Layout.Strides()[l.Dim] != 1 || l.out.Layout.Strides()[l.Dim] != 1 {
		return 0
	}
	var threads, keep int
	n := l.Len()
	switch {
	case l.X.DType == dtype.F32 && l.enough(info):
		threads = threadsFor(info, n, heldKept, min(heldThreads, info.MaxThreads))
		if keep = ops.RoundUp((n+threads-1)/threads, 16/l.X.DType.Size()); keep <= heldKept {
			room = l.roomFor(info, threads, heldRegisters, keep)
		}
	case l.normed && l.X.DType.Size() == 2:
		if room, threads = l.ownRoom(info); room > 0 {
			keep = ops.RoundUp((n+threads-1)/threads, kernels.HeldAtOnce)
		}
	}
	if room == 0 {
		return 0
	}
	w := &l.fold
	*w = kernels.Fold{}
	if KeepDims(w, l.Kept) != nil {
		return 0 // the other way says so
	}
	w.Unit, w.Ins, w.N = true, 1, n
	w.InSize[0], w.InStep[0], w.OutIn = n, 1, 1
	w.Block, w.Keep, w.Full = dsl.ConstInt(threads), dsl.ConstInt(keep), keep*threads == n
	w.Vec = l.vector(keep)
	l.grid = runtime.Grid{Blocks: runtime.Dim3{X: min(w.Rows, room*info.Units)}, Threads: runtime.Dim3{X: threads}}
	return room
}

// threadsFor is how many threads a block has for a row, if each keeps so much of it.
func threadsFor(info *runtime.Info, n, kept, most int) int {
	threads := info.WarpSize
	for threads*kept < n && threads*2 <= most {
		threads *= 2
	}
	return threads
}

// ownRoom is how many blocks with a long row of halves each are resident on a multiprocessor, 0 for
// another way.
func (l *RowOp) ownRoom(info *runtime.Info) (room, threads int) {
	n := l.Len()
	threads = threadsFor(info, n, ownKept, min(ownThreads, info.MaxThreads))
	if room = l.roomFor(info, threads, ownRegisters, ops.RoundUp((n+threads-1)/threads, kernels.HeldAtOnce)); room < leastOwn || !l.enough(info) {
		return 0, 0
	}
	return room, threads
}
