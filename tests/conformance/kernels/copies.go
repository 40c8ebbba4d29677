package kernels

import "github.com/gokiln/kiln/dsl"

// strip is how many elements of Strips are in shared memory at once, twice.
const strip = 256

// Strips writes strips of x from element first on backwards to out. While the threads
// write one, the next is copied to the other half of the shared memory.
//
//kiln:kernel
func Strips[T dsl.Number](t dsl.Thread, out, x []T, first dsl.ConstInt) {
	halves := dsl.Shared[[2][strip]T](t)
	x = x[first:]
	half, step := 0, t.GridDimX()*strip
	begin(t, halves[half][:], x, t.BlockX()*strip)
	for at := t.BlockX() * strip; at < len(x); at += step {
		dsl.CopyWait()
		t.Sync() // all is there, and nobody reads the other half any more
		begin(t, halves[1-half][:], x, at+step)
		n := min(strip, len(x)-at)
		for i := t.ThreadX(); i < n; i += t.BlockDimX() {
			out[at+i] = halves[half][n-1-i]
		}
		half = 1 - half
	}
}

// begin copies what there is of x from element at on, eight elements a thread and those
// that are left one by one.
func begin[T dsl.Number](t dsl.Thread, to, x []T, at int) {
	for i := 8 * t.ThreadX(); i < len(to); i += 8 * t.BlockDimX() {
		if at+i+8 <= len(x) {
			for k := range 8 {
				dsl.CopyAsync(&to[i+k], &x[at+i+k])
			}
			continue
		}
		for k := i; k < i+8 && at+k < len(x); k++ {
			dsl.CopyAsync(&to[k], &x[at+k])
		}
	}
}
