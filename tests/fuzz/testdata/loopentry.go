//fuzz: name=KLoopEntry blocks=2,1,1 threads=64,1,1 lens=128,0

package testdata

// Threads come to a loop with warp operations by different ways, once code that
// joined those ways has been moved out of the outer loop.
//
//kiln:kernel
func KLoopEntry(t dsl.Thread, out []uint32, n int) {
	acc := uint32(0)
	for i := range 16 {
		v := uint32(7)
		if x := float32(t.Global()) * 0.5; x > -1 && x < 20 {
			v = uint32(x)
		}
		acc += dsl.WarpSum(t, v) + uint32(i)
	}
	out[t.Global()] = acc
}
