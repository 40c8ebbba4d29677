package conformance

import (
	"embed"
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

//go:embed lambda.go
var source embed.FS

var _ = dsl.Source(source)

const quarter = 0.25

// lambdas adds the cases of functions that kernels are compiled with.
func (b *builder) lambdas() {
	const n = 1000
	x, y := floats[float32](b, n), floats[float32](b, n)
	add := func(name string, f func(a, b float32) float32) {
		b.add("Apply/"+name, kernels.Apply[float32, float32, float32], 3, 64, make([]float32, n), x, y, f)
	}
	add("literal", func(a, b float32) float32 { return a*b + 1 })
	add("function", kernels.Hypot)
	add("generic", kernels.Mix[float32])
	add("returned", kernels.Adder[float32]())
	add("control", func(a, b float32) float32 {
		type pair struct{ lo, hi float32 }
		const steps = 5
		p := pair{min(a, b), max(a, b)}
		for i := range steps {
			if p.hi < p.lo*2 {
				break
			}
			p.hi = p.hi*quarter - float32(i)
		}
		twice := func(x float32) float32 { return x + x }
		switch {
		case dsl.IsNaN(p.hi):
			return -1
		case p.lo > 0:
			return twice(p.hi)
		}
		return p.lo
	})
	b.add("Apply/mixed", kernels.Apply[int16, dsl.F16, bool], 3, 64, make([]bool, n), ints[int16](b, n), halves[dsl.F16](b, n),
		func(i int16, h dsl.F16) bool { return float32(i) < dsl.F32(h) })

	for _, threads := range []int{32, 256} {
		b.add(fmt.Sprintf("Reduce/longest/%d", threads), kernels.Reduce[float32, int64], 1, threads, make([]int64, 1), ranged[float32](b, n, 100),
			func(i int, x float32) int64 { return int64(x)<<32 | int64(i) }, func(a, b int64) int64 { return max(a, b) }, int64(-1<<63))
		b.add(fmt.Sprintf("Reduce/sum/%d", threads), kernels.Reduce[int32, uint32], 1, threads, make([]uint32, 1), ints[int32](b, n),
			func(i int, x int32) uint32 { return uint32(x) ^ uint32(i) }, kernels.Adder[uint32](), uint32(0))
	}
	b.add("Rows", kernels.Rows, 3, 64, make([]float32, 10), ranged[float32](b, 10*77, 10), 77,
		func(t dsl.Thread, row []float32) float32 {
			s := float32(0)
			for i := t.ThreadX(); i < len(row); i += t.BlockDimX() {
				s += dsl.Exp(-row[i] * row[i])
			}
			return dsl.BlockSum(t, s)
		})
}
