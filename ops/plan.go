package ops

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// How walks are divided among blocks and threads.
const (
	MaxThreads     = 256 // of a block
	ItemsPerThread = 4   // elements of a thread, where there are enough
	VectorThreads  = 128 // of a block whose threads have many items each
	mostMany       = 16  // elements of those
	mostVector     = 8   // neighbours among those
	VectorBytes    = 16  // of the widest load or store
	ShortestRow    = 32  // below, blocks do not go along rows
)

// PlanViews joins the dimensions of the operands, which have the same shape, and divides the
// elements among blocks. It reports false if there are none.
func PlanViews(w *kernels.Walk, g *runtime.Grid, dev *runtime.Device, of []View) (bool, error) {
	info := DeviceInfo(dev)
	return planFor(w, g, &info, of)
}

func planFor(w *kernels.Walk, g *runtime.Grid, info *runtime.Info, of []View) (bool, error) {
	n := of[0].Layout.Count()
	if n == 0 {
		return false, nil
	}
	if flat(of) {
		*w = kernels.Walk{Mode: kernels.Flat, N: n}
		*g = split(w, info, 1)
		return true, nil
	}
	var room [kernels.Operands]layout.Layout
	for k := range of {
		room[k] = of[k].Layout
	}
	m := layout.Merge(room[:len(of)]...)
	if len(m.Sizes) > kernels.MaxRank {
		return false, fmt.Errorf("%w: %d dimensions of %v cannot be joined, kernels go over %d", layout.ErrRank, len(m.Sizes), room[0].Shape(), kernels.MaxRank)
	}
	*w = kernels.Walk{Mode: kernels.Dims, Rank: dsl.ConstInt(max(1, len(m.Sizes))), N: n, Rows: 1}
	for d, size := range m.Sizes {
		w.Size[d], w.Div[d] = size, Divisor(size)
		for k := range of {
			w.Step[k][d] = m.Strides[k][d]
		}
	}
	if row := w.Size[0]; row >= ShortestRow {
		w.Mode, w.Rows, w.N = kernels.Rows, n/row, row
		for k := range of {
			w.Kind[k] = kind(w.Step[k][0])
		}
	}
	w.Wide = dsl.ConstBool(LargestDividend(w) > math.MaxInt32)
	*g = split(w, info, w.Rows)
	return true, nil
}

// flat reports whether all operands lie in row-major order without gaps.
func flat(of []View) bool {
	for i := range of {
		if !of[i].Layout.IsContiguous() {
			return false
		}
	}
	return true
}

func kind(step int) dsl.ConstInt {
	switch step {
	case 0:
		return kernels.Same
	case 1:
		return kernels.Contiguous
	}
	return kernels.Any
}

// split divides the elements among blocks. There are blocks for all multiprocessors of the
// device to have work for all the threads that they can hold, and some more so that
// none waits long for another; each thread has several elements then.
func split(w *kernels.Walk, info *runtime.Info, rows int) runtime.Grid {
	threads := min(MaxThreads, info.ThreadsPerUnit, info.MaxThreads)
	fewest := 4 * info.Units * max(1, info.ThreadsPerUnit/threads)
	part := threads * ItemsPerThread
	serial := info.ThreadsPerUnit <= info.WarpSize // blocks of a multiprocessor run one after the other
	switch {
	case serial:
		part = max(part, RoundUp((w.N*rows+fewest-1)/fewest, threads))
	case w.N*rows < part*fewest:
		part = threads
	}
	w.Part = min(part, RoundUp(w.N, threads))
	blocks := runtime.Dim3{X: (w.N + w.Part - 1) / w.Part}
	if w.Mode == kernels.Rows {
		blocks.Y = min(rows, MaxBlocks())
		if serial {
			blocks.Y = min(rows, max(1, fewest/blocks.X))
		}
	}
	return runtime.Grid{Blocks: blocks, Threads: runtime.Dim3{X: threads}}
}

// together has the threads of a planned walk take many elements each, and neighbours
// where those are contiguous in the operands: a block is done with its part then, and
// the next one comes. On a device that runs blocks one after the other threads stay lanes
// of vectors, and take elements one by one.
func together(w *kernels.Walk, g *runtime.Grid, info *runtime.Info, of []View) {
	if info.ThreadsPerUnit <= info.WarpSize {
		return
	}
	n := w.N
	if w.Mode != kernels.Flat {
		if n *= w.Rows; n > math.MaxInt32 {
			return // to find elements would take long divisions
		}
		w.Mode, w.Rows = kernels.Dims, 1
		for k := range of {
			w.Kind[k] = kind(w.Step[k][0])
		}
	}
	widest := 1
	for k := range of {
		widest = max(widest, of[k].DType.Size())
	}
	vec := min(mostVector, max(1, VectorBytes/widest))
	for vec > 1 && !neighbours(w, of, vec) {
		vec /= 2
	}
	many := mostMany // as found on an H200
	if widest >= 4 {
		many = 2 * VectorBytes / widest
	}
	w.N, w.Vec, w.Many = n, dsl.ConstInt(vec), dsl.ConstInt(many)
	threads := min(VectorThreads, info.ThreadsPerUnit, info.MaxThreads)
	w.Part = threads * many
	if n < info.Units*w.Part {
		w.Part = threads // few elements: each has a thread
	}
	*g = runtime.Grid{Blocks: runtime.Dim3{X: (n + w.Part - 1) / w.Part}, Threads: runtime.Dim3{X: threads}}
}

// neighbours reports whether so many neighbours in the innermost dimension begin at
// multiples of that in all operands where they are contiguous.
func neighbours(w *kernels.Walk, of []View, vec int) bool {
	if w.Mode != kernels.Flat && w.Size[0]%vec != 0 {
		return false
	}
	for k := range of {
		unit := w.Mode == kernels.Flat || w.Kind[k] == kernels.Contiguous
		if !unit {
			continue
		}
		if at := of[k].Buf.Addr() + uint64(of[k].Layout.Offset()*of[k].DType.Size()); at%VectorBytes != 0 {
			return false
		}
		for d := 1; w.Mode != kernels.Flat && d < int(w.Rank); d++ {
			if w.Step[k][d]%vec != 0 {
				return false
			}
		}
	}
	return true
}

// RoundUp returns the next multiple of a number.
func RoundUp(n, to int) int { return (n + to - 1) / to * to }

// Divisor prepares a size for division by a product. Sizes that do not fit are those
// of walks that are Wide.
func Divisor(n int) kernels.Divisor {
	if n > math.MaxInt32 {
		return kernels.Divisor{}
	}
	shift := bits.Len32(uint32(n - 1))
	mul := (uint64(1)<<32*(uint64(1)<<shift-uint64(n)))/uint64(n) + 1
	return kernels.Divisor{By: uint32(n), Mul: uint32(mul), Shift: uint32(shift)}
}

// Multiples reports whether numbers are multiples of n.
func Multiples(n int, of ...int) bool {
	for _, x := range of {
		if x%n != 0 {
			return false
		}
	}
	return true
}

// LargestDividend is the largest number that the walk divides, 0 if it divides none.
func LargestDividend(w *kernels.Walk) int {
	switch {
	case w.Mode == kernels.Rows && w.Rank > 2:
		return w.Rows
	case w.Mode == kernels.Dims && w.Rank > 1:
		return w.N
	}
	return 0
}
