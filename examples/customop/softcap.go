package main

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

//go:embed softcap.go
var source embed.FS
var _ = dsl.Source(source)

// softCap is limit · tanh(x / limit), which stays between -limit and limit.
type softCap struct{ limit float32 }

func (softCap) Name() string { return "softcap" }

func (op softCap) Forward(x *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	return tensor.LaunchInto(out, kernel, runtime.Cover(x.Count(), 256), x, x.Layout(), op.limit)
}

func (op softCap) Backward(g, x, out *tensor.Tensor) *tensor.Tensor {
	return g.Mul(out.DivScalar(float64(op.limit)).Sqr().SubFrom(1)) // 1 - tanh²
}

var kernel = jit.Of(capped)

//kiln:kernel
func capped(t dsl.Thread, out, x []float32, at core.Strided, limit float32) {
	if i := t.Global(); i < at.Count {
		out[i] = limit * dsl.Tanh(x[at.At(i)]/limit)
	}
}
