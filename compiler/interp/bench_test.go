package interp

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bench runs a kernel and reports the time of one operation of one thread: the
// number of arithmetic, memory and branch operations that a thread executes.
func bench(b *testing.B, p *Program, grid, block [3]int, ops float64, args ...any) {
	b.Helper()
	packed := pack(args...)
	threads := 1.0
	for i := range 3 {
		threads *= float64(max(grid[i], 1) * max(block[i], 1))
	}
	l := Launch{Grid: grid, Block: block, Args: packed}
	require.NoError(b, p.Run(l))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := p.Run(l); err != nil {
			b.Fatal(err)
		}
	}
	workers := float64(runtime.GOMAXPROCS(0))
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(ns*workers/(threads*ops), "core-ns/lane-op")
	b.ReportMetric(threads*ops/ns, "Glane-ops/s")
	runtime.KeepAlive(args)
}

func BenchmarkSaxpy(b *testing.B) {
	p := load(b, saxpy)
	n := 1 << 20
	x, y := make([]float32, n), make([]float32, n)
	bench(b, p, [3]int{n / 1024}, [3]int{256}, 17*4+5, y, x, float32(2))
}

func BenchmarkPoly(b *testing.B) {
	p := load(b, polyKernel())
	n := 1 << 18
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i%1000)/100 - 5
	}
	bench(b, p, [3]int{n / 256}, [3]int{256}, 26, y, x)
}

func BenchmarkBlur(b *testing.B) {
	p := load(b, blur)
	n, r := 1<<18, 8
	x, y := make([]float32, n), make([]float32, n)
	bench(b, p, [3]int{n / 256}, [3]int{256}, 10*float64(2*r+1)+8, y, x, r)
}

func BenchmarkHistogram(b *testing.B) {
	p := load(b, histogram)
	x, h := make([]byte, 1<<18), make([]uint32, 256)
	for i := range x {
		x[i] = byte(i * 7919 >> 3)
	}
	bench(b, p, [3]int{64}, [3]int{256}, 16*8+6, h, x)
}

func BenchmarkReduce(b *testing.B) {
	p := load(b, reduce)
	n := 1 << 18
	x, y := make([]float32, n), make([]float32, n/256)
	bench(b, p, [3]int{n / 256}, [3]int{256}, 14+9*5+6, y, x)
}

func BenchmarkMatMul(b *testing.B) {
	p := load(b, matmul)
	const n = 256
	x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	bench(b, p, [3]int{n / 16, n / 16}, [3]int{16, 16}, n*8+n/16*16+14, z, x, y, n)
}

// BenchmarkMandelbrot is all divergence: the lanes of a block leave one loop in
// different iterations.
func BenchmarkMandelbrot(b *testing.B) {
	p := load(b, mandelbrot)
	const w = 512
	out := make([]int32, w*w)
	iterations := mandelbrotGo(out, w)
	bench(b, p, [3]int{w * w / 256}, [3]int{256}, float64(iterations)/(w*w)*12+20, out, w)
}

// checked makes a checked build of IR text.
func checked(text string) string {
	return strings.Replace(text, "module \"m\"", "module \"m\"\nchecked", 1)
}

// BenchmarkChecked runs kernels in builds that look for mistakes, on one processor,
// and without, on as many as there are.
func BenchmarkChecked(b *testing.B) {
	n := 1 << 16
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	data, bins := make([]byte, n), make([]uint32, 256)
	for _, c := range []struct {
		name, text  string
		grid, block [3]int
		args        []any
	}{
		{"saxpy", saxpy, [3]int{n / 1024}, [3]int{256}, []any{y, x, float32(2)}},
		{"poly", polyKernel(), [3]int{n / 256}, [3]int{256}, []any{y, x}},
		{"blur", blur, [3]int{n / 256}, [3]int{256}, []any{y, x, 8}},
		{"histogram", histogram, [3]int{16}, [3]int{256}, []any{bins, data}},
		{"reduce", reduce, [3]int{n / 256}, [3]int{256}, []any{y[:n/256], x}},
		{"matmul", matmul, [3]int{8, 8}, [3]int{16, 16}, []any{z[:128*128], x[:128*128], y[:128*128], 128}},
		{"mandelbrot", mandelbrot, [3]int{128 * 128 / 256}, [3]int{256}, []any{make([]int32, 128*128), 128}},
	} {
		b.Run(c.name+"/unchecked", func(b *testing.B) { bench(b, load(b, c.text), c.grid, c.block, 1, c.args...) })
		b.Run(c.name+"/checked", func(b *testing.B) { bench(b, load(b, checked(c.text)), c.grid, c.block, 1, c.args...) })
	}
}

// BenchmarkLaunch measures the cost of a launch that has nearly nothing to do.
func BenchmarkLaunch(b *testing.B) {
	p := load(b, saxpy)
	for _, blocks := range []int{1, 4} {
		b.Run(fmt.Sprint(blocks), func(b *testing.B) {
			x, y := make([]float32, 32*blocks), make([]float32, 32*blocks)
			l := Launch{Grid: [3]int{blocks}, Block: [3]int{32}, Args: pack(y, x, float32(2))}
			b.ReportAllocs()
			for range b.N {
				if err := p.Run(l); err != nil {
					b.Fatal(err)
				}
			}
			runtime.KeepAlive([][]float32{x, y})
		})
	}
}
