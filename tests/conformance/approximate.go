package conformance

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// near appends a case whose first arguments may be off.
func (b *builder) near(name string, kernel any, tolerances []Near, args ...any) {
	b.cases = append(b.cases, Case{Name: name, Kernel: kernel, Grid: dsl.D1(4), Threads: dsl.D1(64), Args: args, Near: tolerances})
}

// approximate adds the cases of package fast. What is allowed is the sum of what
// the functions state and the rounding of their Go bodies.
func (b *builder) approximate() {
	const n = 1000
	out := func(k int) (list []any) {
		for range k {
			list = append(list, make([]float32, n))
		}
		return list
	}
	const ulp = 0x1p-23
	b.near("Fast/Exps", kernels.FastExps, []Near{{Rel: 3 * ulp}, {Rel: 100 * ulp}, {Rel: 0x1.1p-11}, {Rel: 100 * ulp}}, append(out(4), ranged[float32](b, n, 80))...)
	b.near("Fast/Logs", kernels.FastLogs, []Near{{Rel: 5 * ulp, Abs: 5 * ulp}, {Rel: 5 * ulp, Abs: 5 * ulp}, {Rel: 5 * ulp, Abs: 5 * ulp}}, append(out(3), positive[float32](b, n, 1e10))...)
	b.near("Fast/Trig", kernels.FastTrig, []Near{{Abs: 0x1p-20}, {Abs: 0x1p-20}, {Rel: 0x1p-18, Abs: 0x1p-18}}, append(out(3), ranged[float32](b, n, math.Pi/4))...)
	b.near("Fast/Roots", kernels.FastRoots, []Near{{Rel: 3 * ulp}, {Rel: 3 * ulp}, {Rel: 3 * ulp}, {Rel: 3 * ulp}, {Rel: 200 * ulp}},
		append(out(5), positive[float32](b, n, 1000), ranged[float32](b, n, 8))...)
	// A product that is not rounded moves a sum by half an ulp of the product.
	few := []Near{{Abs: 100 * ulp}, {Abs: 100 * ulp}, {Abs: 400 * ulp}, {}}
	b.near("Contracted/float32", kernels.Contracted[float32], few, append(out(4), ranged[float32](b, n, 10), ranged[float32](b, n, 10), ranged[float32](b, n, 10))...)
	// NaN, infinities and zeros.
	special := floats[float32](b, n)
	for i, x := range special { // the values are promised for moderate arguments only
		if x == x && x-x == 0 && x != 0 {
			special[i] = float32(math.Copysign(1, float64(x)))
		}
	}
	b.near("Fast/Special", kernels.FastExps, []Near{{Rel: 3 * ulp}, {Rel: 5 * ulp}, {Rel: 0x1.1p-11}, {Rel: 5 * ulp}}, append(out(4), special)...)
	b.near("Fast/SpecialLogs", kernels.FastLogs, []Near{{Abs: 5 * ulp}, {Abs: 5 * ulp}, {Abs: 5 * ulp}}, append(out(3), special)...)
	b.near("Fast/SpecialTrig", kernels.FastTrig, []Near{{Abs: 0x1p-20}, {Abs: 0x1p-20}, {Abs: 0x1p-18, Rel: 0x1p-18}}, append(out(3), special)...)
}
