//fuzz: name=KLoopExit blocks=1,1,1 threads=64,1,1 lens=64,101

package testdata

// Threads leave a loop in different iterations and at two places, and go on to a
// loop with warp operations.
//
//kiln:kernel
func KLoopExit(t dsl.Thread, out []int32, in []int32) {
	n := 0
	at := t.Global()
	for n < 4 && (in[at] > in[at+1] || n > 1 && in[at+2] != 0) {
		n++
		at++
	}
	acc := in[at]
	for i := uint8(2); i < 23; i++ {
		acc += dsl.ShuffleUp(t, acc, 8) * int32(i)
	}
	out[t.Global()] = acc + int32(n)
}
