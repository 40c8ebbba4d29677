//fuzz: name=KMinNeg blocks=1,1,1 threads=64,1,1 lens=64,64

package testdata

// A negated operand in the inner of two minima: ptxas 13.0 forgot the negation in
// the instruction that it made of both.
//
//kiln:kernel
func KMinNeg(t dsl.Thread, out []uint64, in []int32) {
	v := in[t.ThreadX()]
	v = min((v%max(v>>31, 1))*v, -v, v|6)
	w := in[t.ThreadX()^1]
	w = max(w, -v, w^v)
	out[t.ThreadX()] = uint64(v)*31 + uint64(w)
}
