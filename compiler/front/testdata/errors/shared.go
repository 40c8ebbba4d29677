package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	p := dsl.Shared[[4][]float32](t)                             // ERROR 7 "K0303: shared memory of type \[4\]\[\]float32"
	a, b := dsl.Shared[[4]float32](t), dsl.Shared[[4]float32](t) // ERROR 37 "K0304: second dsl.Shared of type \[4\]float32 on this line"
	c, d := dsl.Shared[float32](t), dsl.Shared[int32](t)
	a[0], b[0], *c, *d = 1, 2, 3, 4
	_ = p
	n := float32(0)
	dsl.AtomicAdd(&n, 1)                                       // ERROR 2 "K0305: AtomicAdd on a local variable"
	dsl.CopyAsync(&n, &x[0])                                   // ERROR 2 "K0307: destination of dsl.CopyAsync is not in shared memory"
	dsl.CopyAsync(&a[0], &a[1])                                // ERROR 2 "K0307: source of dsl.CopyAsync is not in global memory"
	dsl.CopyAsync(&x[1], &x[2])                                // ERROR 2 "K0307: destination"
	dsl.CopyVecAsync[[2]float32](x, 0, x, 1)                   // ERROR 2 "K0307: destination of dsl.CopyVecAsync is not in shared memory"
	dsl.CopyVecAsyncOrZero[[4]float32](a[:], 0, b[:], 1, true) // ERROR 2 "K0307: source of dsl.CopyVecAsyncOrZero is not in global memory"
	var bar dsl.MBarrier
	bar.Init(32) // ERROR 2 "K0305: dsl.MBarrier is not in shared memory"
	begin(x, a[:])
	x[0] = n
}

func begin(to, from []float32) {
	dsl.CopyAsync(&to[0], &from[0]) // ERROR 2 "K0307: destination"
}

//kiln:kernel
func Sized(t dsl.Thread, x []float32, n dsl.ConstInt) {
	p := dsl.SharedSlice[*float32](t, n)                                     // ERROR 7 "K0303: shared memory of type \*float32"
	q := dsl.LocalSlice[[]float32](n)                                        // ERROR 7 "K0132: dsl.LocalSlice of type \[\]float32"
	a, b := dsl.SharedSlice[float32](t, n), dsl.SharedSlice[float32](t, n+1) // ERROR 42 "K0304: second dsl.SharedSlice of type float32 on this line"
	a[0], b[0] = *p[0], q[0][0]
}
