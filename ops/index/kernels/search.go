package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Search stores how many elements of a sorted line come before those of x. The walk has
// the result, x, and where the line begins, of n elements at distances of step.
//
//kiln:kernel
func Search[T dsl.Number, C core.Computed](t dsl.Thread, out []uint32, x, sorted []T, w core.Walk, n, step int, before func(a, b C) bool) {
	w.Each(t, func(at [core.Operands]int) {
		v := dsl.Convert[C](x[at[1]])
		first, end := 0, n
		for first < end {
			m := (first + end) / 2
			if before(dsl.Convert[C](sorted[at[2]+m*step]), v) {
				first = m + 1
			} else {
				end = m
			}
		}
		out[at[0]] = uint32(first)
	})
}

// Before reports whether a sorts before b: NaN is more than all numbers.
func Before[C core.Computed](a, b C) bool { return a < b || b != b && a == a }

// NotAfter reports whether a sorts before b, or as b does.
func NotAfter[C core.Computed](a, b C) bool { return a <= b || b != b }

// Histogram counts the elements of x by the number that bin gives them. Those of none
// are passed over; where a says so indices that are out of range are an error. Blocks
// count in shared memory, of room counters, or in counts where there are more. The walk
// has x and the positions of its elements.
//
//kiln:kernel
//kiln:const room=0,256
func Histogram[T dsl.Number, C core.Computed](t dsl.Thread, counts []uint32, x []T, w core.Walk, a Axis, room dsl.ConstInt, checked dsl.ConstBool, low, high, bins C, bin func(x, low, high, bins C) int) {
	mine := dsl.SharedSlice[uint32](t, room+1)
	for i := t.ThreadX(); i < int(room); i += t.BlockDimX() {
		mine[i] = 0
	}
	t.Sync()
	wrong, where := a.None, 0
	w.Several(t, func(at [core.LoadsInFlight][core.Operands]int, in [core.LoadsInFlight]bool) {
		var v [core.LoadsInFlight]C
		for u := range core.LoadsInFlight {
			v[u] = dsl.Convert[C](x[at[u][0]])
		}
		for u := range core.LoadsInFlight {
			i := bin(v[u], low, high, bins)
			switch {
			case !in[u] || bool(checked) && i == a.None:
			case i >= 0 && i < a.Size:
				if room > 0 {
					dsl.AtomicAdd(&mine[i], 1)
				} else {
					dsl.AtomicAdd(&counts[i], 1)
				}
			case bool(checked):
				wrong, where = i, at[u][1]
			}
		}
	})
	t.Sync()
	for i := t.ThreadX(); i < min(int(room), a.Size); i += t.BlockDimX() {
		if n := mine[i]; n != 0 {
			dsl.AtomicAdd(&counts[i], n)
		}
	}
	if checked { // behind the last barrier, as it ends the thread
		a.Find(t, wrong, where)
	}
}

// BinIndex is the bin of an index.
func BinIndex[C dsl.Int | dsl.Uint](x, _, _, _ C) int { return int(x) }

// BinOf is the bin of a number among so many from low to high, or -1. The last one has
// high, too.
func BinOf[C dsl.Real](x, low, high, bins C) int {
	if !(x >= low && x <= high) {
		return -1
	}
	return min(int((x-low)*bins/(high-low)), int(bins)-1)
}
