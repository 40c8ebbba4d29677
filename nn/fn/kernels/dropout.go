package kernels

import (
	"github.com/gokiln/kiln/dsl"
	random "github.com/gokiln/kiln/ops/random/kernels"
)

// Dropout stores x times 0 with probability p, and times 1/(1-p) otherwise. Whether an element is
// dropped is decided by its random number, those of the counters from first on: so the gradient is
// made by the same kernel, and no mask is stored. Each thread has the elements of one counter.
//
//kiln:kernel
func Dropout[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, base []int64, key, first uint64, p C) {
	key, first = random.Start(base, key, first)
	by := 1 / (1 - p)
	groups := (len(out) + random.PerCounter - 1) / random.PerCounter
	for g := t.Global(); g < groups; g += t.GlobalSize() {
		hi, lo := random.Words(first+uint64(g), key)
		for k := range random.PerCounter {
			f := by
			if C(random.Unit32(hi[k], lo[k])) < p {
				f = 0
			}
			if i := random.PerCounter*g + k; i < len(out) {
				out[i] = dsl.Convert[T](dsl.Convert[C](x[i]) * f)
			}
		}
	}
}
