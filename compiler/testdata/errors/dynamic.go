package k

import "github.com/gokiln/kiln/dsl"

// targets: msl:3.0 hip:gfx942 ptx:sm_80 cpu:x86-64-v3

//kiln:kernel
func Two(t dsl.Thread, x []float32, n, m int) {
	a := dsl.DynamicShared[float32](t, n)
	b := dsl.DynamicShared[float32](t, m) // ERROR 33 "K0306: second array of dsl.DynamicShared in the kernel"
	a[0], b[0] = x[0], x[1]
	t.Sync()
	x[0] = a[0] + b[0]
}

//kiln:kernel
func Twice(t dsl.Thread, x []float32, n int) {
	a := dsl.DynamicShared[float32](t, 2*n) // ERROR 33 "K0306: length of dsl.DynamicShared is no parameter of the kernel"
	a[0] = x[0]
	t.Sync()
	x[0] = a[0]
}

//kiln:kernel
func Length(t dsl.Thread, x []float32) {
	a := dsl.DynamicShared[float32](t, len(x)) // ERROR 33 "K0306: length of dsl.DynamicShared is no parameter of the kernel"
	a[0] = x[0]
	t.Sync()
	x[0] = a[0]
}

//kiln:kernel
func Narrowed(t dsl.Thread, x []float32, n int) {
	a := dsl.DynamicShared[float32](t, int(uint8(n))) // ERROR 33 "K0306: length of dsl.DynamicShared is no parameter of the kernel"
	a[0] = x[0]
	t.Sync()
	x[0] = a[0]
}

//kiln:kernel
func Negative(t dsl.Thread, x []float32) {
	a := dsl.DynamicShared[float32](t, -1) // ERROR 33 "K0306: dsl.DynamicShared of a negative length, -1"
	a[0] = x[0]
	t.Sync()
	x[0] = a[0]
}

//kiln:kernel
func One(t dsl.Thread, x []float32, n uint32) {
	a := dsl.DynamicShared[float32](t, int(n))
	a[0] = x[0]
	t.Sync()
	x[0] = a[0]
}
