package main

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/gokiln/kiln/bench/compiler/kernels"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// testCase is a kernel and its twin.
type testCase struct {
	name   string // of the kernel, its Go function and its twin
	file   string // with the twin, without extension
	kernel any
	build  func(dev *runtime.Device, small bool) (*problem, error)
}

var cases = []testCase{
	{"Saxpy", "memory", kernels.Saxpy, saxpy},
	{"Copy4", "memory", kernels.Copy4, copy4},
	{"Transpose", "memory", kernels.Transpose, transpose},
	{"Reduce", "memory", kernels.Reduce, reduce},
	{"Histogram", "memory", kernels.Histogram, histogram},
	{"Stencil", "memory", kernels.Stencil, stencil},
	{"Softmax", "rows", kernels.Softmax, softmax},
	{"RMSNorm", "rows", kernels.RMSNorm, rmsNorm},
	{"NBody", "compute", kernels.NBody, nBody},
	{"BlackScholes", "compute", kernels.BlackScholes, blackScholes},
	{"BlackScholesFast", "fast", kernels.BlackScholesFast, blackScholes},
	{"Mandelbrot", "compute", kernels.Mandelbrot, mandelbrot},
	{"XXHash64", "compute", kernels.XXHash64, xxHash64},
	{"SGEMM", "gemm", kernels.SGEMM, sgemm},
}

// pick returns the size for the machine that only checks, or for the one that
// measures.
func pick(small bool, a, b int) int {
	if small {
		return a
	}
	return b
}

// strided is the grid of kernels that walk in steps of the grid.
func strided(small bool) runtime.Grid { return runtime.Blocks(pick(small, 3, 132*8), 256) }

func saxpy(dev *runtime.Device, small bool) (*problem, error) {
	n := pick(small, 1000, 1<<26)
	p := &problem{bytes: 12 * float64(n), grid: strided(small)}
	x, err := newInput(p, dev, n, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	y, err := newInput(p, dev, n, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	const a = float32(1.0 / 1024)
	p.reset = y.fill
	p.args = []any{y.Slice, x.Slice, a}
	p.check = expect(y.Slice, 1e-6, func(i int) float32 { return float32(a*x.at(i)) + y.at(i) })
	return p, nil
}

func copy4(dev *runtime.Device, small bool) (*problem, error) {
	n := pick(small, 1024, 1<<27)
	p := &problem{bytes: 8 * float64(n), grid: runtime.Cover(n/4, 256)}
	in, err := newInput(p, dev, n, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	out, err := newOutput[float32](p, dev, n, 0xff)
	p.args = []any{out, in.Slice}
	p.check = expect(out, 0, in.at)
	return p, err
}

func transpose(dev *runtime.Device, small bool) (*problem, error) {
	rows, cols := pick(small, 64, 8192), pick(small, 96, 8192)
	p := &problem{bytes: 8 * float64(rows*cols)}
	p.grid = runtime.Grid{Blocks: runtime.Dim3{X: cols / 32, Y: rows / 32}, Threads: runtime.Dim3{X: 32, Y: 8}}
	in, err := newInput(p, dev, rows*cols, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	out, err := newOutput[float32](p, dev, rows*cols, 0xff)
	p.args = []any{out, in.Slice, rows, cols}
	p.check = expect(out, 0, func(i int) float32 { return in.at(i%rows*cols + i/rows) })
	return p, err
}

func reduce(dev *runtime.Device, small bool) (*problem, error) {
	n := pick(small, 5000, 1<<27)
	p := &problem{bytes: 4 * float64(n), grid: strided(small)}
	x, err := newInput(p, dev, n, uniform(0, 1))
	if err != nil {
		return nil, err
	}
	blocks, threads := p.grid.Blocks.X, p.grid.Threads.X
	out, err := newOutput[float32](p, dev, blocks, 0xff)
	p.args = []any{out, x.Slice}
	p.check = expect(out, 1e-4, func(b int) float32 {
		sum := 0.0
		for first := b * threads; first < n; first += blocks * threads {
			for i := first; i < min(first+threads, n); i++ {
				sum += float64(x.at(i))
			}
		}
		return float32(sum)
	})
	return p, err
}

func histogram(dev *runtime.Device, small bool) (*problem, error) {
	n := pick(small, 3000, 1<<26)
	p := &problem{bytes: 4 * float64(n), grid: strided(small)}
	x, err := newInput(p, dev, n, (*rand.Rand).Uint32)
	if err != nil {
		return nil, err
	}
	bins, err := newOutput[uint32](p, dev, 256, 0)
	if err != nil {
		return nil, err
	}
	var want [256]uint32
	for i, w := range x.values {
		times := uint32((n - i + len(x.values) - 1) / len(x.values))
		for range 4 {
			want[w&255] += times
			w >>= 8
		}
	}
	p.args = []any{bins, x.Slice}
	p.check = expect(bins, 0, func(i int) uint32 { return want[i] })
	return p, nil
}

func stencil(dev *runtime.Device, small bool) (*problem, error) {
	nx, ny, nz := pick(small, 35, 512), pick(small, 9, 512), pick(small, 6, 512)
	p := &problem{bytes: 8 * float64(nx*ny*nz)}
	p.grid = runtime.Grid{Blocks: runtime.Dim3{X: (nx + 31) / 32, Y: (ny + 7) / 8}, Threads: runtime.Dim3{X: 32, Y: 8}}
	in, err := newInput(p, dev, nx*ny*nz, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	out, err := newOutput[float32](p, dev, nx*ny*nz, 0)
	const a, b = float32(0.4), float32(0.1)
	p.args = []any{out, in.Slice, nx, ny, nz, a, b}
	p.check = expect(out, 1e-6, func(i int) float32 {
		x, y, z := i%nx, i/nx%ny, i/(nx*ny)
		if x == 0 || y == 0 || z == 0 || x == nx-1 || y == ny-1 || z == nz-1 {
			return 0
		}
		sum := in.at(i-1) + in.at(i+1) + in.at(i-nx) + in.at(i+nx) + in.at(i-nx*ny) + in.at(i+nx*ny)
		return dsl.FMA(a, in.at(i), float32(b*sum))
	})
	return p, err
}

func softmax(dev *runtime.Device, small bool) (*problem, error) {
	rows, cols := pick(small, 3, 16384), pick(small, 300, 4096)
	p := &problem{bytes: 8 * float64(rows*cols), grid: runtime.Blocks(rows, 256)}
	x, err := newInput(p, dev, rows*cols, uniform(-4, 4))
	if err != nil {
		return nil, err
	}
	out, err := newOutput[float32](p, dev, rows*cols, 0xff)
	p.args = []any{out, x.Slice, cols}
	p.check = expect(out, 1e-6, func(i int) float32 {
		sum := 0.0
		for j := range cols {
			sum += math.Exp(float64(x.at(i/cols*cols + j)))
		}
		return float32(math.Exp(float64(x.at(i))) / sum)
	})
	return p, err
}

func rmsNorm(dev *runtime.Device, small bool) (*problem, error) {
	rows, cols := pick(small, 3, 16384), pick(small, 300, 4096)
	p := &problem{bytes: 8 * float64(rows*cols), grid: runtime.Blocks(rows, 256)}
	x, err := newInput(p, dev, rows*cols, uniform(-4, 4))
	if err != nil {
		return nil, err
	}
	weight, err := newInput(p, dev, cols, uniform(0, 2))
	if err != nil {
		return nil, err
	}
	out, err := newOutput[float32](p, dev, rows*cols, 0xff)
	const eps = float32(1e-5)
	p.args = []any{out, x.Slice, weight.Slice, cols, eps}
	p.check = expect(out, 1e-5, func(i int) float32 {
		sum := 0.0
		for j := range cols {
			v := float64(x.at(i/cols*cols + j))
			sum += v * v
		}
		return float32(float64(x.at(i)) / math.Sqrt(sum/float64(cols)+float64(eps)) * float64(weight.at(i%cols)))
	})
	return p, err
}

func nBody(dev *runtime.Device, small bool) (*problem, error) {
	n := pick(small, 256, 132*256)
	p := &problem{flops: 20 * float64(n) * float64(n), grid: runtime.Blocks(n/256, 256)}
	bodies, err := newInput(p, dev, 4*n, uniform(0, 1))
	if err != nil {
		return nil, err
	}
	acc, err := newOutput[float32](p, dev, 4*n, 0xff)
	const soft = float32(0.01)
	p.args = []any{acc, bodies.Slice, soft}
	p.check = expect(acc, 1e-3, func(i int) float32 {
		axis := i % 4
		if axis == 3 {
			return 0
		}
		sum := 0.0
		for j := range n {
			d2, d := float64(soft), [3]float64{}
			for k := range d {
				d[k] = float64(bodies.at(4*j+k)) - float64(bodies.at(i-axis+k))
				d2 += d[k] * d[k]
			}
			sum += d[axis] * float64(bodies.at(4*j+3)) / (d2 * math.Sqrt(d2))
		}
		return float32(sum)
	})
	return p, err
}

func blackScholes(dev *runtime.Device, small bool) (*problem, error) {
	n := pick(small, 900, 1<<25)
	p := &problem{bytes: 20 * float64(n), grid: strided(small)}
	var in [3]*input[float32]
	for i, gen := range []func(*rand.Rand) float32{uniform(5, 30), uniform(1, 100), uniform(0.25, 10)} {
		var err error
		if in[i], err = newInput(p, dev, n, gen); err != nil {
			return nil, err
		}
	}
	call, err := newOutput[float32](p, dev, n, 0xff)
	if err != nil {
		return nil, err
	}
	put, err := newOutput[float32](p, dev, n, 0xff)
	const rate, sigma = 0.02, 0.3
	p.args = []any{call, put, in[0].Slice, in[1].Slice, in[2].Slice, float32(rate), float32(sigma)}
	price := func(i int) (float32, float32) {
		s, x, y := float64(in[0].at(i)), float64(in[1].at(i)), float64(in[2].at(i))
		d1 := (math.Log(s/x) + (rate+sigma*sigma/2)*y) / (sigma * math.Sqrt(y))
		d2 := d1 - sigma*math.Sqrt(y)
		cdf := func(d float64) float64 { return math.Erfc(-d/math.Sqrt2) / 2 }
		now := x * math.Exp(-rate*y)
		return float32(s*cdf(d1) - now*cdf(d2)), float32(now*cdf(-d2) - s*cdf(-d1))
	}
	p.check = both(
		expect(call, 1e-4, func(i int) float32 { c, _ := price(i); return c }),
		expect(put, 1e-4, func(i int) float32 { _, q := price(i); return q }))
	return p, err
}

func mandelbrot(dev *runtime.Device, small bool) (*problem, error) {
	width, height, limit := pick(small, 40, 4096), pick(small, 24, 4096), pick(small, 50, 512)
	p := &problem{}
	p.grid = runtime.Grid{Blocks: runtime.Dim3{X: (width + 31) / 32, Y: (height + 7) / 8}, Threads: runtime.Dim3{X: 32, Y: 8}}
	out, err := newOutput[int32](p, dev, width*height, 0xff)
	x0, y0, step := float32(-2), float32(-1.25), 2.5/float32(height)
	p.args = []any{out, width, height, limit, x0, y0, step}
	count := func(i int) int32 {
		cx, cy := dsl.FMA(float32(i%width), step, x0), dsl.FMA(float32(i/width), step, y0)
		x, y := float32(0), float32(0)
		for n := range limit {
			xx, yy := float32(x*x), float32(y*y)
			if xx+yy > 4 {
				return int32(n)
			}
			x, y = xx-yy+cx, dsl.FMA(2*x, y, cy)
		}
		return int32(limit)
	}
	total := 0.0
	for i := 0; i < width*height; i += 1 + width*height/5000 {
		total += float64(count(i))
	}
	p.flops = total * float64(1+width*height/5000) * 8
	p.check = expect(out, 0, count)
	return p, err
}

func xxHash64(dev *runtime.Device, small bool) (*problem, error) {
	n, words := pick(small, 100, 1<<20), pick(small, 8, 32)
	p := &problem{bytes: 8 * float64(n*words), grid: runtime.Cover(n, 256)}
	in, err := newInput(p, dev, n*words, (*rand.Rand).Uint64)
	if err != nil {
		return nil, err
	}
	out, err := newOutput[uint64](p, dev, n, 0xff)
	p.args = []any{out, in.Slice, words}
	p.check = expect(out, 0, func(m int) uint64 {
		msg := make([]uint64, words)
		for k := range msg {
			msg[k] = in.at(k*n + m)
		}
		return xxh64(msg)
	})
	return p, err
}

// xxh64 is the reference for messages of a multiple of 32 bytes, seed 0.
func xxh64(msg []uint64) uint64 {
	p := [5]uint64{0, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63}
	round := func(acc, in uint64) uint64 { return bits.RotateLeft64(acc+in*p[2], 31) * p[1] }
	v := [4]uint64{p[1] + p[2], p[2], 0, -p[1]}
	for k, w := range msg {
		v[k%4] = round(v[k%4], w)
	}
	h := uint64(0)
	for k, by := range []int{1, 7, 12, 18} {
		h += bits.RotateLeft64(v[k], by)
	}
	for _, x := range v {
		h = (h^round(0, x))*p[1] + p[4]
	}
	h += uint64(len(msg)) * 8
	h = (h ^ h>>33) * p[2]
	h = (h ^ h>>29) * p[3]
	return h ^ h>>32
}

func sgemm(dev *runtime.Device, small bool) (*problem, error) {
	m, n, k := pick(small, 128, 4096), pick(small, 256, 4096), pick(small, 24, 4096)
	p := &problem{flops: 2 * float64(m) * float64(n) * float64(k)}
	p.grid = runtime.Grid{Blocks: runtime.Dim3{X: n / 128, Y: m / 128}, Threads: runtime.Dim3{X: 256}}
	a, err := newInput(p, dev, m*k, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	b, err := newInput(p, dev, k*n, uniform(-1, 1))
	if err != nil {
		return nil, err
	}
	c, err := newOutput[float32](p, dev, m*n, 0xff)
	p.args = []any{c, a.Slice, b.Slice, m, n, k}
	p.check = expect(c, 0, func(i int) float32 {
		sum := float32(0)
		for j := range k {
			sum = dsl.FMA(a.at(i/n*k+j), b.at(j*n+i%n), sum)
		}
		return sum
	})
	return p, err
}
