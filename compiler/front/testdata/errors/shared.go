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
	dsl.AtomicAdd(&n, 1) // ERROR 2 "K0305: AtomicAdd on a local variable"
	x[0] = n
}
