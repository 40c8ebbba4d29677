package scattertest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/scatter"
	"slices"
)

// Narrow tests that scatters of types below 32 bits are computed in F32 and rounded once: of
// ones, of which a sum that is rounded after each element stops growing, and of random numbers.
func Narrow(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if d.IsFloat() && d.Computes() && d.Compute() != d {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { narrowScatters(t, b, d) }, "%v", d)
		}
	}
}

// narrowScatter is a scatter that combines elements: of src, with the last operand as indices,
// along dimension 0 of out.
type narrowScatter struct {
	name string
	by   *scatter.ScatterBy
	run  func(b *opstest.Bench, out, ids, src ops.View) error
}

func narrowScatterStrategies() (strategies []narrowScatter) {
	strategies = append(strategies, narrowScatter{"index_add", scatter.ScatterSum, func(b *opstest.Bench, out, ids, src ops.View) error {
		line, err := ids.Layout.Index(1, 0)
		if err != nil {
			return err
		}
		ids.Layout = line
		return scatter.IndexAdd(b.Stream, out, ids, src, 0)
	}})
	for _, by := range []*scatter.ScatterBy{scatter.ScatterSum, scatter.ScatterMean, scatter.ScatterProd} {
		strategies = append(strategies, narrowScatter{by.Name(), by, func(b *opstest.Bench, out, ids, src ops.View) error {
			return scatter.ScatterReduce(b.Stream, by, out, ids, src, 0, true)
		}})
	}
	return strategies
}

func narrowScatters(t *testing.T, b *opstest.Bench, d dtype.DType) {
	t.Helper()
	const ids, wide = 1400, 3
	least := math.Exp2(-float64(map[dtype.DType]int{dtype.F16: 10, dtype.BF16: 7, dtype.F8E4M3: 3, dtype.F8E5M2: 2}[d]))
	draws := map[string]func(strategy *scatter.ScatterBy) float64{
		"ones": func(*scatter.ScatterBy) float64 { return 1 },
		"random": func(by *scatter.ScatterBy) float64 {
			if by == scatter.ScatterProd {
				return 1 + least*float64(b.Rand.IntN(2)) // below the largest number, and never exact
			}
			return b.Rand.Float64() - 0.25
		},
	}
	for name, draw := range draws {
		for _, strategy := range narrowScatterStrategies() {
			for _, places := range []int{2, 40 * ids} { // of which the latter has most without an index
				src := b.Value(t, d, layout.Contiguous(layout.Shape{ids, wide}), func() dtype.Scalar { return dtype.FromFloat(d, draw(strategy.by)) })
				out := b.Value(t, d, layout.Contiguous(layout.Shape{places, wide}), func() dtype.Scalar { return dtype.FromInt(d, 1) })
				at, err := layout.Contiguous(layout.Shape{ids, 1}).BroadcastTo(layout.Shape{ids, wide})
				require.NoError(t, err)
				last := ids
				if strategy.by == scatter.ScatterProd {
					last = 16 // factors of one position
				}
				id := func(i int) int {
					if i >= last {
						return 1
					}
					return 0
				}
				k := 0
				index := b.Value(t, dtype.I32, layout.Contiguous(layout.Shape{ids, 1}), func() dtype.Scalar { k++; return dtype.FromInt(dtype.I32, int64(id(k-1))) })
				index.Layout, err = layout.New(at.Shape(), at.Strides(), index.Layout.Offset())
				require.NoError(t, err)
				list := make([][]float64, places*wide)
				for i, x := range src.Want {
					p := id(i/wide)*wide + i%wide
					list[p] = append(list[p], x.Float())
				}
				require.NoError(t, strategy.run(b, out.View, index.View, src.View))
				got := b.Read(t, out)
				for i := range wide {
					want := Combined(strategy.by, list[i], 1, true)
					require.NoError(t, opstest.Near(got[i], dtype.FromFloat(d, want), 1), "%s of %s to %d places of %v: %v", strategy.name, name, places, d, want)
				}
			}
		}
	}
}

// Combined is what a scatter stores that combines numbers, with what was there if self.
func Combined(by *scatter.ScatterBy, list []float64, was float64, self bool) float64 {
	if len(list) == 0 {
		return was
	}
	if self {
		list = append([]float64{was}, list...)
	}
	x := list[0]
	for _, y := range list[1:] {
		switch by {
		case scatter.ScatterProd:
			x *= y
		case scatter.ScatterMax:
			x = max(x, y)
		case scatter.ScatterMin:
			x = min(x, y)
		default:
			x += y
		}
	}
	if by == scatter.ScatterMean {
		x /= float64(len(list))
	}
	return x
}

// LongScatters tests scatters of more indices than a block sorts, of few and many positions, with
// rows that are moved in vectors.
func LongScatters(t *testing.T, b *opstest.Bench) {
	d := dtype.F32
	for _, c := range []struct{ ids, places, wide int }{{700, 3, 1}, {3000, 2500, 4}, {600, 40, 64}, {20000, 7, 1}} {
		shape := layout.Shape{c.ids, c.wide}
		src := b.Value(t, d, layout.Contiguous(shape), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(9))) })
		out := b.Value(t, d, layout.Contiguous(layout.Shape{c.places, c.wide}), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(9))) })
		ids := b.Value(t, dtype.I32, layout.Contiguous(layout.Shape{c.ids}), func() dtype.Scalar {
			return dtype.FromInt(dtype.I32, int64(min(b.Rand.IntN(c.places), b.Rand.IntN(c.places))))
		})
		want := slices.Clone(out.Want)
		for i, id := range ids.Want {
			for k := range c.wide {
				at := int(id.Int())*c.wide + k
				want[at] = dtype.FromFloat(d, want[at].Float()+src.Want[i*c.wide+k].Float())
			}
		}
		require.NoError(t, scatter.IndexAdd(b.Stream, out.View, ids.View, src.View, 0))
		require.NoError(t, opstest.Compare(b.Read(t, out), want, 0), "%+v", c)
		wide := ids.View
		var err error
		wide.Layout, err = ids.Layout.Insert(1)
		require.NoError(t, err)
		wide.Layout, err = wide.Layout.BroadcastTo(shape)
		require.NoError(t, err)
		for i, id := range ids.Want {
			copy(want[int(id.Int())*c.wide:][:c.wide], src.Want[i*c.wide:][:c.wide])
		}
		require.NoError(t, scatter.Scatter(b.Stream, out.View, wide, src.View, 0))
		require.NoError(t, opstest.Compare(b.Read(t, out), want, 0), "%+v", c)
	}
}
