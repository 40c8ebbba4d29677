//fuzz: name=KLoopEntry blocks=2,1,1 threads=64,1,1 lens=128,0

package testdata

// Threads come to a loop with warp operations by different ways, once code that
// joined those ways has been moved out of the outer loop.
//
//kiln:kernel
func KLoopEntry(t dsl.Thread, out []uint32, n int) {
	acc := uint32(0)
	for range n & 15 {
		acc = acc*3 + dsl.WarpSum(t, toUint32(dsl.F32(dsl.To[dsl.F16](float32(t.Global())))))
	}
	out[t.Global()] = acc
}
