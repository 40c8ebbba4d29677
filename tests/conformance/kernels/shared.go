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

// BackwardsOf is [Backwards] for a number of words that the launch decides; past is added to the
// index of what is read.
//
//kiln:kernel
func BackwardsOf(t dsl.Thread, out []uint32, n int, past int32) {
	words := dsl.DynamicShared[uint32](t, n)
	more := dsl.Shared[[3]uint8](t)
	if i := t.ThreadX(); i < len(more) {
		more[i] = uint8(t.BlockX() + 10*i)
	}
	for i := t.ThreadX(); i < len(words); i += t.BlockDimX() {
		words[i] = uint32(i) * 0x9E3779B1
	}
	t.Sync()
	for i := t.ThreadX(); i < n; i += t.BlockDimX() {
		out[t.BlockX()*n+i] = words[n-1-i+int(past)] + uint32(more[i%3])
	}
}

// Unwritten stores what dynamic shared memory has in it before anything is written.
//
//kiln:kernel
func Unwritten(t dsl.Thread, out []uint32, n uint16) {
	words := dsl.DynamicShared[uint32](t, int(n))
	for i := t.ThreadX(); i < len(words); i += t.BlockDimX() {
		out[t.BlockX()*len(words)+i] = words[i]
	}
	t.Sync()
	for i := t.ThreadX(); i < len(words); i += t.BlockDimX() {
		words[i] = 1
	}
}
