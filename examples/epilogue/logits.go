package main

import (
	"embed"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

//go:embed logits.go
var source embed.FS
var _ = dsl.Source(source)

// logits is limit·tanh((x·wᵀ + bias)/limit) of BF16: x is (m, k), w (n, k), bias (n).
type logits struct{ limit float32 }

func (logits) Name() string { return "logits" }

func (op logits) Forward(x, w, bias *tensor.Tensor) *tensor.Tensor {
	m, n, k := x.Size(0), w.Size(0), x.Size(1)
	out := tensor.Empty(x.Device(), x.DType(), m, n)
	dev := x.Device().Runtime()
	cfg := config(dev, k)
	grid := runtime.Grid{
		Blocks:  runtime.Dim3{X: (n + int(cfg.N) - 1) / int(cfg.N), Y: (m + int(cfg.M) - 1) / int(cfg.M)},
		Threads: runtime.Dim3{X: int(cfg.Warps()) * dev.WarpSize()},
	}
	return tensor.LaunchInto(out, kernel, grid, x.Contiguous(), w.Contiguous(), bias.Contiguous(), m, n, k, op.limit, cfg)
}

// Backward multiplies by the derivative of the activation, 1 - tanh², and then as any product does.
func (op logits) Backward(g, x, w, _, out *tensor.Tensor) (dx, dw, dbias *tensor.Tensor) {
	g = g.Mul(out.DivScalar(float64(op.limit)).Sqr().SubFrom(1))
	return g.MatMul(w), g.T().MatMul(x), g.Sum(0)
}

// config chooses tiles by what the device's matrix instructions are. Rows of k elements are copied 16
// bytes at a time where these are aligned.
func config(dev *runtime.Device, k int) tile.Config {
	shape := func(fact dsl.MatrixFact) int { return jit.MatrixShape(dev, reflect.TypeFor[dsl.BF16](), fact) }
	c := tile.Config{M: 32, N: 64, K: 64, Down: 2, Across: 1, Stages: 2, Chunk: 8, A: tile.AlongK, B: tile.AlongK}
	switch {
	case shape(dsl.MatrixWarpgroup) > 0:
		c.M, c.N, c.Down, c.Across, c.Stages = 128, 256, 8, 1, 4
	case shape(dsl.MatrixM) > 0:
		c.M, c.N, c.Down, c.Across, c.Stages = 128, 128, 2, 2, 3
	}
	c.AVec, c.BVec = dsl.ConstBool(k%8 == 0), dsl.ConstBool(k%8 == 0)
	return c
}

var kernel = jit.Of(capped)

//kiln:kernel
//kiln:const cfg.M=32 cfg.N=64 cfg.K=64 cfg.Down=2 cfg.Across=1 cfg.Stages=2 cfg.Chunk=8 cfg.A=0 cfg.B=0
func capped(t dsl.Thread, out, x, w, bias []dsl.BF16, m, n, k int, limit float32, cfg tile.Config) {
	dsl.LaunchBounds(t, cfg.Threads(t), 1)
	row, col := t.BlockY()*int(cfg.M), t.BlockX()*int(cfg.N)
	a := tile.Factor[dsl.BF16]{Mem: x, At: row * k, Limit: m - row, Across: k, Along: 1}
	b := tile.Factor[dsl.BF16]{Mem: w, At: col * k, Limit: n - col, Across: k, Along: 1}
	sums := dsl.LocalSlice[float32](cfg.Sums(t))
	tile.Multiply(t, sums, a, b, k, &cfg, func(a, b, c float32) float32 { return dsl.FMA(a, b, c) })
	tile.EachInside(t, x, sums, m-row, n-col, &cfg, func(r, c int, sum float32) { // the epilogue
		r, c = r+row, c+col
		z := (sum + dsl.F32(bias[c])) / limit
		out[r*n+c] = dsl.To[dsl.BF16](limit * dsl.Tanh(z))
	})
}
