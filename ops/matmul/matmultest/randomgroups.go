package matmultest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gokiln/kiln/ops/dtype"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
)

// randomGroups tests random products of groups.
func randomGroups(t *testing.T, b *opstest.Bench) {
	configurations(t, b, func(t *testing.T, b *opstest.Bench, n int) {
		d := randomFactors(b)
		o, form, kind, strategy := d, b.Rand.IntN(groupedForms), b.Kind(), drawStrategy(b, matmulops.GroupedStrategies())
		for _, r := range results {
			if r.factors == d && b.Has(r.out) && b.Rand.IntN(3) == 0 {
				o = r.out
			}
		}
		for range n {
			if c := drawGroups(b.Rand); !c.check(t, b, d, o, form, kind, strategy) {
				c.check(t, b, d, o, form, kind, "")
			}
		}
	})
}

// randomFactors draws a type of factors.
func randomFactors(b *opstest.Bench) dtype.DType {
	all := slices.DeleteFunc(dtype.All(), func(d dtype.DType) bool { return !b.Has(d) })
	return all[b.Rand.IntN(len(all))]
}

// drawStrategy draws one of the strategies that a device can be asked for, or leaves it to the
// device.
func drawStrategy(b *opstest.Bench, strategies []string) string {
	if b.Rand.IntN(3) > 0 {
		return ""
	}
	return strategies[b.Rand.IntN(len(strategies))]
}

// randomSize draws a size, of which most are small.
func randomSize(r *rand.Rand) int { return 1 + r.IntN([]int{4, 20, 70, 140}[r.IntN(4)]) }

// drawGroups draws sizes and where groups end. Some of them are empty, and some ends are out of
// order or outside.
func drawGroups(r *rand.Rand) *groupCase {
	c := &groupCase{m: randomSize(r), n: randomSize(r), total: randomSize(r)}
	for range r.IntN(9) {
		c.ends = append(c.ends, r.IntN(c.total+1))
	}
	slices.Sort(c.ends)
	for i := range c.ends {
		switch r.IntN(16) {
		case 0:
			c.ends[i] = r.IntN(c.total + 1)
		case 1:
			c.ends[i] = []int{-1, c.total + 5, 1 << 30, -1 << 31}[r.IntN(4)]
		case 2:
			c.ends[i] = c.ends[max(i-1, 0)]
		}
	}
	return c
}

// randomScaled tests random products of factors with scales.
func randomScaled(t *testing.T, b *opstest.Bench) {
	types := slices.DeleteFunc(slices.Clone(scaledTypes), func(c struct{ factors, out dtype.DType }) bool {
		return !b.Has(c.factors) || !b.Has(c.out) || !b.Has(dtype.F32)
	})
	if len(types) == 0 {
		return
	}
	configurations(t, b, func(t *testing.T, b *opstest.Bench, n int) {
		c, sc := types[b.Rand.IntN(len(types))], scaleShapes[b.Rand.IntN(len(scaleShapes))]
		if c.factors.IsInt() {
			sc[2] = 0
			sc[0], sc[1] = sc[0]%matmulops.ScaleBlock, sc[1]%matmulops.ScaleBlock
		}
		kind, strategy := b.Kind(), drawStrategy(b, matmulops.ScaledStrategies())
		for range n {
			size := [3]int{randomSize(b.Rand), randomSize(b.Rand) * (1 + b.Rand.IntN(3)), randomSize(b.Rand)}
			if !scaled(t, b, c.factors, c.out, size, sc, kind, strategy) {
				scaled(t, b, c.factors, c.out, size, sc, kind, "")
			}
		}
	})
}
