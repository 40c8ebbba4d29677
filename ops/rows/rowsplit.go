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

// Rows that no block can stage, and long ones of which there are few, are divided among
// blocks that wait for each other, where a device lets them: each element is read once then.

var (
	float32Type  = reflect.TypeFor[float32]()
	softmaxSplit = ops.TypedKernel{Name: "softmax", Kernel: jit.Of(kernels.SoftmaxSplit[float32]), Params: func(t, _ reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), ops.Uint32SliceType, FoldType, ops.ConstIntType, ops.IntType, float32Type, ops.ConstBoolType, ops.ConstBoolType, ops.ConstBoolType}
	}}
	normSplit = ops.TypedKernel{Name: "norm", Kernel: jit.Of(kernels.NormSplit[float32]), Params: func(t, _ reflect.Type) []reflect.Type {
		ts := reflect.SliceOf(t)
		return []reflect.Type{ts, ts, ts, ts, ops.Uint32SliceType, FoldType, ops.IntType, float32Type, ops.ConstBoolType, ops.ConstBoolType, ops.ConstBoolType, ops.ConstBoolType}
	}}
)

const (
	splitBytes     = 1 << 15 // of a part of a row, which a block has in shared memory
	splitKept      = 64      // elements of it that a thread has at most
	splitRegisters = 48      // of such a thread
	splitRow       = 8192    // rows of more elements are divided
	aloneKept      = 32      // elements of a row that a block has for itself that a thread keeps
	aloneRow       = 1024    // rows of halves from this size on are for such blocks
	splitSharers   = 4       // launches at a time that must be resident together
)

// splits returns into how many parts rows are divided, 0 if they cannot be: all blocks of
// a row must be resident on the device together.
func (l *RowOp) splits(info *runtime.Info) int {
	if !info.Cooperative || info.MaxThreads < ops.MaxThreads || l.X.DType.Compute() != dtype.F32 {
		return 0
	}
	room := info.Units * min(info.ThreadsPerUnit/ops.MaxThreads, info.RegistersPerUnit/(ops.MaxThreads*splitRegisters), info.SharedPerBlock/(splitBytes+1024))
	part := min(splitBytes/l.X.DType.Size(), ops.MaxThreads*splitKept)
	parts := (l.Len() + part - 1) / part
	if parts > ops.MaxThreads || parts*splitSharers > room || l.Kept[0].Count() > math.MaxInt32/parts {
		return 0
	}
	return parts
}

// alone returns how many threads blocks have that have rows of halves for themselves, in
// shared memory, 0 if there are none: as many bytes are in flight then as for rows of F32.
// Of long rows it returns how many blocks are resident on a multiprocessor.
func (l *RowOp) alone(info *runtime.Info) (threads, room int) {
	n := l.Len()
	if ops.SerialBlocks(info) || l.X.DType.Size() != 2 || n < aloneRow || l.Kept[0].Count() > math.MaxInt32 {
		return 0, 0
	}
	if most := min(ops.MaxThreads, info.MaxThreads); n <= min(splitRow, aloneKept*most) {
		return threadsFor(info, n, aloneKept, most), 0
	}
	room, threads = l.ownRoom(info)
	return threads, room
}

// split chooses how blocks go through parts of rows that are contiguous, and returns how
// many a row has, 0 for another way, and of rows that are one part how many blocks are
// resident on a multiprocessor, if that matters.
func (l *RowOp) split(info *runtime.Info) (parts, room int) {
	parts = l.splits(info)
	threads, room := l.alone(info)
	if threads > 0 {
		parts = 1
	} else {
		threads = ops.MaxThreads
	}
	if parts == 0 || l.X.Layout.Strides()[l.Dim] != 1 || l.out.Layout.Strides()[l.Dim] != 1 {
		return 0, 0
	}
	w, n := &l.fold, l.Len()
	*w = kernels.Fold{}
	if KeepDims(w, l.Kept) != nil {
		return 0, 0 // the other way says so
	}
	w.Unit, w.Ins, w.N = true, 1, n
	w.InSize[0], w.InStep[0], w.OutIn = n, 1, 1
	w.Wide = dsl.ConstBool(w.Rows*parts > math.MaxInt32)
	w.Part = ops.RoundUp((n+parts-1)/parts, kernels.HeldAtOnce)
	parts = (n + w.Part - 1) / w.Part
	keep := ops.RoundUp((w.Part+threads-1)/threads, kernels.HeldAtOnce)
	w.Block, w.Keep, w.InDiv[0] = dsl.ConstInt(threads), dsl.ConstInt(keep), ops.Divisor(parts)
	w.Full = parts*w.Part == n && keep*threads == w.Part
	w.Vec = l.vector(keep)
	l.grid = runtime.Grid{Blocks: runtime.Dim3{X: parts * w.Rows}, Threads: runtime.Dim3{X: threads}}
	return parts, room
}

// withWords calls f with the status words of the parts of rows.
func (l *RowOp) withWords(s *runtime.Stream, parts int, f func(words any) error) error {
	if parts == 1 {
		return f(ops.SliceArg(dtype.U32, new(runtime.SliceHeader)))
	}
	return WithStatusWords(s, l.Name, 2*parts*l.fold.Rows, f)
}
