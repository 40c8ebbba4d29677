//fuzz: name=KLoopEnd blocks=2,1,1 threads=64,1,1 lens=128,512

package testdata

// An iteration of the outer loop ends where lanes leave the inner one, in different
// turns: machine code forgot all but the last of them.
//
//kiln:kernel
func KLoopEnd(t dsl.Thread, out []uint64, in []int32) {
	id := t.Global()
	acc := uint64(id)
	for _, e := range in[id*4 : id*4+4] {
		acc = acc*31 + uint64(e)
		for i := 0; i < 7; i += 3 {
			if in[id] > 0 {
				i++
			}
		}
	}
	out[id] = acc
}
