package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Agrees means the same everywhere. It has a parameter of every type.
//
//kiln:kernel
func Agrees(t dsl.Thread, out []uint64, on bool, a int8, b uint16, c float32, d int, e float64, x []int16) {
	i := t.Global()
	if on {
		out[i] = 1
	}
	out[i] += uint64(a) + uint64(b)<<8 + uint64(d) + uint64(x[i])
	if float64(c) > e {
		out[i]++
	}
}

// Differs does what Go leaves to the machine: a conversion out of range.
//
//kiln:kernel
func Differs(t dsl.Thread, out []int32, x float64) {
	out[t.Global()] = int32(x*0 + 1e30)
}

// Crosses exchanges values in a block and in a warp.
//
//kiln:kernel
func Crosses(t dsl.Thread, out []int32) {
	values := dsl.Shared[[64]int32](t)
	i := t.ThreadX()
	values[i] = int32(t.Global() * 7)
	t.Sync()
	out[t.Global()] = values[63-i] + dsl.WarpSum(t, values[i]&1)
}
