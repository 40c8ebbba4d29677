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

// Stages is a pipeline: while the threads write one strip of x from element first on to out, each
// turned around, copies of the next stages-1 are under way. Strips are copied in vectors; those
// that are not all in x are zeros.
//
//kiln:kernel
//kiln:const stages=2,4
func Stages[T dsl.Number](t dsl.Thread, out, x []T, stages, first dsl.ConstInt) {
	tiles := dsl.SharedSlice[T](t, stages*strip)
	x = x[first:]
	strips := (len(out) + strip - 1) / strip
	steps := max((strips-t.BlockX()+t.GridDimX()-1)/t.GridDimX(), 0)
	load := func(k int) {
		to := tiles[k%int(stages)*strip:]
		for i := t.ThreadX(); i < strip/8; i += t.BlockDimX() {
			at := (t.BlockX()+k*t.GridDimX())*(strip/8) + i
			dsl.CopyVecAsyncOrZero[[8]T](to, i, x, at, k < steps && 8*at+8 <= len(x))
		}
		dsl.CopyCommit()
	}
	for k := range int(stages) - 1 {
		load(k)
	}
	for k := range steps {
		dsl.CopyWaitGroups(stages - 2)
		t.Sync() // all of strip k is there, and nobody reads the one before any more
		load(k + int(stages) - 1)
		tile, at := tiles[k%int(stages)*strip:], (t.BlockX()+k*t.GridDimX())*strip
		for i := t.ThreadX(); i < min(strip, len(out)-at); i += t.BlockDimX() {
			out[at+i] = tile[strip-1-i]
		}
	}
}

// Vectors turns x around, which it copies in vectors of two and sixteen.
//
//kiln:kernel
func Vectors[T dsl.Number](t dsl.Thread, out, x []T) {
	two, many := dsl.Shared[[64]T](t), dsl.Shared[[512]T](t)
	i := t.ThreadX()
	dsl.CopyVecAsync[[2]T](two[:], i, x, t.BlockX()*32+i)
	dsl.CopyVecAsync[[16]T](many[:], i, x, i)
	dsl.CopyWait()
	t.Sync()
	out[2*t.Global()], out[2*t.Global()+1] = two[63-i], many[511-16*i]
}
