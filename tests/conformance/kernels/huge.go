package kernels

import "github.com/gokiln/kiln/dsl"

// mark is what element i of a huge array gets: every bit of the index counts,
// and a float32 holds all the values.
func mark(i int) uint8 { return uint8(uint64(i) * 0x9E3779B97F4A7C15 >> 56) }

// Mark writes every step-th element.
//
//kiln:kernel
func Mark[T uint8 | float32](t dsl.Thread, data []T, step int) {
	for i := t.Global() * step; i < len(data); i += t.GlobalSize() * step {
		data[i] = T(mark(i))
	}
}

// CountMarks adds to count[0] how many of the elements that [Mark] writes hold
// its value, and to count[1] how many do not.
//
//kiln:kernel
func CountMarks[T uint8 | float32](t dsl.Thread, count []uint64, data []T, step int) {
	right, wrong := uint64(0), uint64(0)
	for i := t.Global() * step; i < len(data); i += t.GlobalSize() * step {
		if data[i] == T(mark(i)) {
			right++
		} else {
			wrong++
		}
	}
	dsl.AtomicAdd(&count[0], right)
	dsl.AtomicAdd(&count[1], wrong)
}
