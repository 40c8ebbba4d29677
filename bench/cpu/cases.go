package main

import (
	"math/rand/v2"

	"github.com/gokiln/kiln/bench/cpu/kernels"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// testCase is a kernel and its twin.
type testCase struct {
	name  string
	twin  string
	alt   string // another twin; "" if there is one only
	build func(p *problem, small bool)
	extra bool // not in the mean: another size of a case, or a function on the way to one
}

var cases = []testCase{
	{"Saxpy", "Saxpy", "", func(p *problem, small bool) { saxpy(p, pick(small, 4000, 1<<17)) }, false},
	{"SaxpyMemory", "Saxpy", "", func(p *problem, small bool) { saxpy(p, pick(small, 9001, 1<<24)) }, true},
	{"Exp", "Exp", "ExpOurs", func(p *problem, small bool) { elementwise(p, small, kernels.Exp, uniform(-80, 80), 1e-6) }, false},
	{"Gelu", "Gelu", "GeluOurs", func(p *problem, small bool) { elementwise(p, small, kernels.Gelu, uniform(-5, 5), 1e-6) }, false},
	{"Tanh", "Tanh", "TanhOurs", func(p *problem, small bool) { elementwise(p, small, kernels.Tanh, uniform(-5, 5), 1e-6) }, true},
	{"Softmax", "Softmax", "SoftmaxOurs", softmax, false},
	{"RMSNorm", "RMSNorm", "", rmsNorm, false},
	{"Sum", "Sum", "", sum, false},
	{"Transpose", "Transpose", "TransposeTile", transpose, false},
	{"Histogram", "Histogram", "HistogramOne", histogram, false},
	{"Mandelbrot", "Mandelbrot", "MandelbrotPoint", mandelbrot, false},
	{"NBody", "NBody", "", nBody, false},
	{"Stencil", "Stencil", "", stencil, false},
	{"SGEMM", "SGEMM", "SGEMMLoops", sgemm, false},
}

// pick returns the size for the interpreter, or for machine code.
func pick(small bool, a, b int) int {
	if small {
		return a
	}
	return b
}

// warps is a grid of some blocks of one warp.
func (p *problem) warps(blocks int) runtime.Grid {
	return runtime.Blocks(blocks, p.dev.WarpSize())
}

func (p *problem) launch(kernel any, grid runtime.Grid, args ...any) {
	p.steps = append(p.steps, step{kernel, grid, args})
}

func saxpy(p *problem, n int) {
	y, x := inout(p, n, uniform(-1, 1)), input(p, n, uniform(-1, 1))
	p.bytes = 12 * float64(n)
	p.launch(kernels.Saxpy, p.warps((n+16383)/16384), y, x, float32(1.0/1024))
}

func elementwise(p *problem, small bool, kernel any, gen func(*rand.Rand) float32, tol float64) {
	n := pick(small, 4001, 1<<17)
	out, x := newResult[float32](p, n), input(p, n, gen)
	p.bytes, p.tol = 8*float64(n), tol
	p.launch(kernel, p.warps((n+16383)/16384), out, x)
}

// rows is a grid of a warp for each of some rows.
func (p *problem) rows(rows int) runtime.Grid {
	const high = 4
	return runtime.Grid{Blocks: runtime.Dim3{X: 1, Y: rows / high}, Threads: runtime.Dim3{X: p.dev.WarpSize(), Y: high}}
}

func softmax(p *problem, small bool) {
	rows, cols := pick(small, 8, 64), pick(small, 300, 1024)
	out, x := newResult[float32](p, rows*cols), input(p, rows*cols, uniform(-4, 4))
	p.bytes, p.tol = 8*float64(rows*cols), 1e-6
	p.launch(kernels.Softmax, p.rows(rows), out, x, cols)
}

func rmsNorm(p *problem, small bool) {
	rows, cols := pick(small, 8, 64), pick(small, 300, 1024)
	out, x, weight := newResult[float32](p, rows*cols), input(p, rows*cols, uniform(-4, 4)), input(p, cols, uniform(0, 2))
	p.bytes, p.tol = 8*float64(rows*cols), 1e-5
	p.launch(kernels.RMSNorm, p.rows(rows), out, x, weight, cols, float32(1e-5))
}

// sum adds in two launches, of which the second adds what the blocks of the first
// have.
func sum(p *problem, small bool) {
	n, blocks := pick(small, 5000, 1<<18), pick(small, 3, 16)
	x, part, total := input(p, n, uniform(0, 1)), input(p, blocks, uniform(0, 0)), newResult[float32](p, 1)
	p.bytes, p.tol = 4*float64(n), 1e-5
	p.launch(kernels.Sum, p.warps(blocks), part, x)
	p.launch(kernels.Sum, p.warps(1), total, part)
	p.twin = []any{total, x}
}

func transpose(p *problem, small bool) {
	rows, cols := pick(small, 64, 1024), pick(small, 96, 512)
	out, in := newResult[float32](p, rows*cols), input(p, rows*cols, uniform(-1, 1))
	p.bytes = 8 * float64(rows*cols)
	grid := runtime.Grid{Blocks: runtime.Dim3{X: cols / 32, Y: rows / 32}, Threads: runtime.Dim3{X: 32, Y: 4}}
	p.launch(kernels.Transpose, grid, out, in, rows, cols, dsl.ConstInt(0))
}

func histogram(p *problem, small bool) {
	n := pick(small, 3000, 1<<16)
	bins, x := inout(p, 256, func(*rand.Rand) uint32 { return 0 }), input(p, n, (*rand.Rand).Uint32)
	p.bytes = 4 * float64(n)
	p.launch(kernels.Histogram, p.warps(pick(small, 3, 4)), bins, x)
}

func stencil(p *problem, small bool) {
	nx, ny, nz := pick(small, 35, 128), pick(small, 9, 64), pick(small, 6, 32)
	out, in := newResult[float32](p, nx*ny*nz), input(p, nx*ny*nz, uniform(-1, 1))
	p.bytes, p.tol = 8*float64(nx*ny*nz), 1e-6
	grid := runtime.Grid{Blocks: runtime.Dim3{X: 1, Y: pick(small, 2, 4), Z: nz - 2}, Threads: runtime.Dim3{X: p.dev.WarpSize(), Y: 4}}
	p.launch(kernels.Stencil, grid, out, in, nx, ny, float32(0.4), float32(0.1))
}

func nBody(p *problem, small bool) {
	n := pick(small, 250, 2048)
	var acc, in [4]runtime.Slice[float32]
	for i := range in {
		in[i] = input(p, n, uniform(0, 1))
		acc[i] = newResult[float32](p, n)
	}
	p.flops, p.tol = 20*float64(n)*float64(n), 1e-4
	p.launch(kernels.NBody, runtime.Cover(n, 128), acc[0], acc[1], acc[2], in[0], in[1], in[2], in[3], float32(0.01))
}

func mandelbrot(p *problem, small bool) {
	width, height, limit := pick(small, 64, 512), pick(small, 24, 256), pick(small, 50, 256)
	out := newResult[int32](p, width*height)
	x0, y0, step := float32(-2), float32(-1.25), 2.5/float32(height)
	p.launch(kernels.Mandelbrot, runtime.Grid{Blocks: runtime.Dim3{X: (width + 63) / 64, Y: height / 8}, Threads: runtime.Dim3{X: 64, Y: 4}},
		out, width, height, limit, x0, y0, step)
	for py := range height {
		for px := range width {
			cx, cy := dsl.FMA(float32(px), step, x0), dsl.FMA(float32(py), step, y0)
			x, y := float32(0), float32(0)
			for range limit {
				xx, yy := float32(x*x), float32(y*y)
				if xx+yy > 4 {
					break
				}
				x, y = xx-yy+cx, dsl.FMA(2*x, y, cy)
				p.flops += 8
			}
		}
	}
}

// tiling is the tile of c that fits in the vector registers of the device.
func tiling(warp int) kernels.Tiling {
	if warp == 8 { // of which AVX2 has 16
		return kernels.Tiling{High: 6, Each: 2, Wide: 8}
	}
	return kernels.Tiling{High: 12, Each: 2, Wide: dsl.ConstInt(warp)}
}

// sgemm packs both matrices before it multiplies, which is part of the time.
func sgemm(p *problem, small bool) {
	side := pick(small, 128, 1024)
	a, b, c := input(p, side*side, uniform(-1, 1)), input(p, side*side, uniform(-1, 1)), newResult[float32](p, side*side)
	p.flops = 2 * float64(side) * float64(side) * float64(side)
	cfg := tiling(p.dev.WarpSize())
	high, wide := int(cfg.High), int(cfg.Wide)
	width, count := wide*int(cfg.Each), (side+high-1)/high
	bands, panels := input(p, count*high*side, uniform(0, 0)), input(p, side*side, uniform(0, 0))
	grid := func(bx, by, x, y int) runtime.Grid {
		return runtime.Grid{Blocks: runtime.Dim3{X: bx, Y: by}, Threads: runtime.Dim3{X: x, Y: y}}
	}
	p.launch(kernels.PackA, grid(side/64, count, 64, 1), bands, a, side, cfg.High)
	p.launch(kernels.PackB, grid(side/width, side/8, width, 8), panels, b, side, side, dsl.ConstInt(width))
	p.launch(kernels.SGEMM, grid(side/width, (count+15)/16, wide, 16), c, bands, panels, side, side, cfg)
	p.twin = []any{c, a, b, bands, panels, side, side}
}
