package kernels

import "github.com/gokiln/kiln/dsl"

// Unset reads shared memory before anything is written there, and leaves something for
// the block behind.
//
//kiln:kernel
func Unset(t dsl.Thread, out []uint32, bytes []uint8) {
	few, many := dsl.Shared[[3]uint8](t), dsl.Shared[[1001]uint32](t)
	for i := t.ThreadX(); i < len(many); i += t.BlockDimX() {
		out[t.BlockX()*len(many)+i] = many[i]
		many[i] = uint32(i)
	}
	if t.ThreadX() < len(few) {
		bytes[t.BlockX()*len(few)+t.ThreadX()] = few[t.ThreadX()]
		few[t.ThreadX()] = 9
	}
}

// UnsetByte does so with less than a vector.
//
//kiln:kernel
func UnsetByte(t dsl.Thread, out []uint8) {
	x := dsl.Shared[[2]uint8](t)
	if t.ThreadX() < 2 {
		out[2*t.BlockX()+t.ThreadX()] = x[t.ThreadX()]
		x[t.ThreadX()] = 9
	}
}
