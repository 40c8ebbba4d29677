//fuzz: name=KLoopVar blocks=1,1,1 threads=32,1,1 lens=32,32

package testdata

// A function literal captures the variable of a three-clause loop.
//
//kiln:kernel
func KLoopVar(t dsl.Thread, out []uint64, in []int32) {
	acc := uint64(0)
	for i := uint16(0); i < 22; i += 2 {
		if in[i]&1 == 0 {
			i++
		}
		add := func(by int32) uint64 { return uint64(int32(i)*by + in[i]) }
		acc = acc*31 + add(in[t.ThreadX()])
	}
	out[t.ThreadX()] = acc
}
