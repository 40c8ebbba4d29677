package opstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/scatter"
)

// narrow tests that scatters of types below 32 bits are computed in F32 and rounded once: of
// ones, of which a sum that is rounded after each element stops growing, and of random numbers.
func narrow(t *testing.T, b *bench) {
	for _, d := range dtype.All() {
		if d.IsFloat() && d.Computes() && d.Compute() != d {
			b.part(t, func(t *testing.T, b *bench) { b.narrowScatters(t, d) }, "%v", d)
		}
	}
}

// narrowScatter is a way to combine elements: of src, with the last operand as indices, along
// dimension 0 of out.
type narrowScatter struct {
	name string
	by   *scatter.ScatterBy
	run  func(b *bench, out, ids, src ops.View) error
}

func narrowScatterWays() (ways []narrowScatter) {
	ways = append(ways, narrowScatter{"index_add", scatter.ScatterSum, func(b *bench, out, ids, src ops.View) error {
		line, err := ids.Layout.Index(1, 0)
		if err != nil {
			return err
		}
		ids.Layout = line
		return scatter.IndexAdd(b.s, out, ids, src, 0)
	}})
	for _, by := range []*scatter.ScatterBy{scatter.ScatterSum, scatter.ScatterMean, scatter.ScatterProd} {
		ways = append(ways, narrowScatter{by.Name(), by, func(b *bench, out, ids, src ops.View) error {
			return scatter.ScatterReduce(b.s, by, out, ids, src, 0, true)
		}})
	}
	return ways
}

func (b *bench) narrowScatters(t *testing.T, d dtype.DType) {
	t.Helper()
	const ids, wide = 1400, 3
	least := math.Exp2(-float64(map[dtype.DType]int{dtype.F16: 10, dtype.BF16: 7, dtype.F8E4M3: 3, dtype.F8E5M2: 2}[d]))
	draws := map[string]func(way *scatter.ScatterBy) float64{
		"ones": func(*scatter.ScatterBy) float64 { return 1 },
		"random": func(by *scatter.ScatterBy) float64 {
			if by == scatter.ScatterProd {
				return 1 + least*float64(b.rng.IntN(2)) // below the largest number, and never exact
			}
			return b.rng.Float64() - 0.25
		},
	}
	for name, draw := range draws {
		for _, way := range narrowScatterWays() {
			for _, places := range []int{2, 40 * ids} { // of which the latter has most without an index
				src := b.value(t, d, layout.Contiguous(layout.Shape{ids, wide}), func() dtype.Scalar { return dtype.FromFloat(d, draw(way.by)) })
				out := b.value(t, d, layout.Contiguous(layout.Shape{places, wide}), func() dtype.Scalar { return dtype.FromInt(d, 1) })
				at, err := layout.Contiguous(layout.Shape{ids, 1}).BroadcastTo(layout.Shape{ids, wide})
				require.NoError(t, err)
				last := ids
				if way.by == scatter.ScatterProd {
					last = 16 // factors of one place
				}
				id := func(i int) int {
					if i >= last {
						return 1
					}
					return 0
				}
				k := 0
				index := b.value(t, dtype.I32, layout.Contiguous(layout.Shape{ids, 1}), func() dtype.Scalar { k++; return dtype.FromInt(dtype.I32, int64(id(k-1))) })
				index.Layout, err = layout.New(at.Shape(), at.Strides(), index.Layout.Offset())
				require.NoError(t, err)
				list := make([][]float64, places*wide)
				for i, x := range src.want {
					p := id(i/wide)*wide + i%wide
					list[p] = append(list[p], x.Float())
				}
				require.NoError(t, way.run(b, out.View, index.View, src.View))
				got := b.read(t, out)
				for i := range wide {
					want := combined(way.by, list[i], 1, true)
					require.NoError(t, near(got[i], dtype.FromFloat(d, want), 1), "%s of %s to %d places of %v: %v", way.name, name, places, d, want)
				}
			}
		}
	}
}
