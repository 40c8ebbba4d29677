package kernels

import "github.com/gokiln/kiln/dsl"

// Print prints every type, from a loop and from threads that others do not
// accompany.
//
//kiln:kernel
func Print(t dsl.Thread, out []int32, x []float32, n int8, on bool) {
	i := t.Global()
	if i%3 == 0 {
		dsl.Printf(t, "%d.%d.%d: thread %d of block %d\n", t.BlockZ(), t.BlockY(), t.BlockX(), t.ThreadIndex(), t.BlockX())
	}
	for k := range i % 4 {
		dsl.Printf(t, "\t%d: %v %6.2f %t %x\n", k, n, x[(i+k)%len(x)], on, uint16(i*1000))
	}
	if i == 1 {
		dsl.Printf(t, "%d %d %d %d %d %d %d %d %v 100%%\n", int8(-1), uint8(255), int16(-2), uint16(65535), int32(-3), uint32(1<<32-1), int64(-1)<<63, ^uint64(0), x[0]/3)
	}
	all := ((t.BlockZ()*t.GridDimY()+t.BlockY())*t.GridDimX()+t.BlockX())*t.BlockSize() + t.ThreadIndex()
	out[all] = int32(all)
}

// PrintDouble prints 64-bit floats, which not every device has.
//
//kiln:kernel
func PrintDouble(t dsl.Thread, x []float32) {
	i := t.Global()
	dsl.Printf(t, "%v %g\n", float64(x[i])/3, x[i])
}

// Check asserts that no element is negative. Threads of a block meet before.
//
//kiln:kernel
func Check(t dsl.Thread, out, x []int32) {
	i := t.Global()
	t.Sync()
	dsl.Assert(t, x[i] >= 0, "elements are not negative")
	out[i] = x[i]
	t.Sync()
	dsl.Printf(t, "%d passed\n", i)
}

// CheckRange asserts that all elements are below a limit, and says which is not.
//
//kiln:kernel
func CheckRange(t dsl.Thread, out []int32, x []uint8, limit int) {
	i := t.Global()
	dsl.Assert(t, limit > 0, "limit %d%%", limit)
	dsl.Assert(t, int(x[i]) < limit, "element %d is %d", i, x[i])
	out[i] = int32(x[i])
}
