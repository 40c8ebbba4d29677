package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the kernel's source travels inside the binary

// SwiGLU writes silu(gate[i]) * up[i] to out[i], where silu(x) = x/(1+e^-x).
// The arithmetic is in float32 for every element type.
//
//kiln:kernel
func SwiGLU[T dsl.Float](t dsl.Thread, out, gate, up []T) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		g := dsl.F32(gate[i])
		out[i] = dsl.To[T](g / (1 + dsl.Exp(-g)) * dsl.F32(up[i]))
	}
}
