package kernels

import "github.com/gokiln/kiln/dsl"

// Backwards has each block write n words, forwards, to shared memory and read them
// backwards. What it adds is in an object before them.
//
//kiln:kernel
func Backwards(t dsl.Thread, out []uint32, n dsl.ConstInt) {
	more := dsl.Shared[[3]uint8](t)
	words := dsl.SharedSlice[uint32](t, n)
	if i := t.ThreadX(); i < len(more) {
		more[i] = uint8(t.BlockX() + 10*i)
	}
	for i := t.ThreadX(); i < int(n); i += t.BlockDimX() {
		words[i] = uint32(i) * 0x9E3779B1
	}
	t.Sync()
	for i := t.ThreadX(); i < int(n); i += t.BlockDimX() {
		out[t.BlockX()*int(n)+i] = words[int(n)-1-i] + uint32(more[i%3])
	}
}
