package kernels

import "github.com/gokiln/kiln/dsl"

// RowsOf divides numbers that go up from thread to thread by the width of a row, and tells
// where they lie: most vectors are in one row, some are in two or more.
//
//kiln:kernel
func RowsOf(t dsl.Thread, out []int64, first, step, width int) {
	g := t.Global()
	i := first + step*g
	x, y := i%width, i/width
	inner := 0
	if x > 1 && x <= width-3 && y >= 1 {
		inner = 1
		if g > 5 && x < 20 {
			inner = 2
		}
	}
	out[3*g], out[3*g+1], out[3*g+2] = int64(x), int64(y), int64(inner)
}

// BordersOf counts through a row, whose last vector is cut off, and tells which of the numbers
// that go up from thread to thread are inside of borders, and far inside: lanes go different
// ways in some vectors, and all of them one way in most.
//
//kiln:kernel
func BordersOf(t dsl.Thread, out []int64, first, step, low, high int) {
	for i := t.ThreadX() + 1; i < len(out); i += t.BlockDimX() {
		at := first + step*i
		if at < low || at >= high {
			continue
		}
		v := int64(1)
		if at > low+3 && high-5 >= at {
			v = 2
			if i%2 == 0 {
				v = int64(at)
			}
		}
		if i > 7 {
			v += 3
		}
		out[i] = v
	}
}

// Strides reads and writes at indices that go up or down by constants, by widths of all
// kinds, in some threads and in all of them.
//
//kiln:kernel
func Strides(t dsl.Thread, bytes []uint8, halves []uint16, words, down []int32, x, index []int32, from int) {
	g := t.Global()
	n := len(words)/2 - 1
	bytes[3*g+1] = uint8(x[g])
	halves[5*g] = uint16(x[g])
	down[len(down)-1-g] = x[2*g]
	if g >= from {
		words[n-2*g+n] = x[len(x)-1-3*g] + x[index[g]]
		bytes[3*g] = uint8(dsl.AtomicLoad(&x[2*g]) + dsl.AtomicLoad(&x[index[g]]) + dsl.AtomicLoad(&x[from]))
	}
}

// FaultStride writes at an index of thread g that is first + step*g, or that it loads, if g is
// at least from.
//
//kiln:kernel
//kiln:const way=1,2
func FaultStride(t dsl.Thread, out []int32, index []int32, first, from int, way dsl.ConstInt) {
	g := t.Global()
	if g < from {
		return
	}
	switch way {
	case 0:
		out[first+3*g] = 1
	case 1:
		out[first-2*g] = 1
	case 2:
		out[index[g]] = 1
	}
}
